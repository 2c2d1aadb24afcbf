"""Makes and reads PDUs with PyPI's opendis: one request a line, one answer a line.

usage: opendis.py FOLDER    (where `pip install --target FOLDER opendis` has put it)

    make JSON    ->  the bytes of an Entity State PDU with these fields, in hexadecimal
    read HEX     ->  the fields of a PDU, as JSON

What opendis 1.0 gets wrong is set right here, and only that:
* a new PDU cannot be written: its status is an object, its appearance and capabilities are text;
* it writes 0 for type, family and length, so that its own reader does not know its own PDUs.
"""

import io
import json
import sys

sys.path.insert(0, sys.argv[1])

from opendis.DataOutputStream import DataOutputStream
from opendis.PduFactory import createPdu
from opendis.dis7 import EntityID, EntityStatePdu, EntityType, VariableParameter, Vector3Double, Vector3Float

KIND = ["entityKind", "domain", "country", "category", "subcategory", "specific", "extra"]


def make(it):
    pdu = EntityStatePdu()
    pdu.pduType, pdu.protocolFamily, pdu.pduStatus = 1, 1, 0
    pdu.exerciseID, pdu.timestamp = it["exercise"], it["stamp"]
    pdu.length = 144 + 16 * it["parameters"]
    site, application, entity = it["id"]
    pdu.entityID.siteID, pdu.entityID.applicationID, pdu.entityID.entityID = site, application, entity
    pdu.forceId = it["force"]
    for name, number in zip(KIND, it["kind"]):
        setattr(pdu.entityType, name, number)
    pdu.entityLinearVelocity = Vector3Float(*it["velocity"])
    pdu.entityLocation = Vector3Double(*it["position"])
    angles = pdu.entityOrientation
    angles.psi, angles.theta, angles.phi = it["angles"]
    pdu.entityAppearance, pdu.capabilities = it["appearance"], it["capabilities"]
    reckoning = pdu.deadReckoningParameters
    reckoning.deadReckoningAlgorithm = it["model"]
    reckoning.entityLinearAcceleration = Vector3Float(*it["acceleration"])
    reckoning.entityAngularVelocity = Vector3Float(*it["angular_velocity"])
    pdu.marking.characterSet = 1
    pdu.marking.setString(it["marking"])
    pdu.variableParameters = [VariableParameter(0, 1.5, 7, 8, 9) for _ in range(it["parameters"])]
    stream = io.BytesIO()
    pdu.serialize(DataOutputStream(stream))
    return stream.getvalue().hex()


def read(text):
    pdu = createPdu(bytes.fromhex(text))
    xyz = lambda it: [it.x, it.y, it.z]
    angles, reckoning = pdu.entityOrientation, pdu.deadReckoningParameters
    return json.dumps({
        "exercise": pdu.exerciseID,
        "stamp": pdu.timestamp,
        "length": pdu.length,
        "id": [pdu.entityID.siteID, pdu.entityID.applicationID, pdu.entityID.entityID],
        "force": pdu.forceId,
        "kind": [getattr(pdu.entityType, name) for name in KIND],
        "velocity": xyz(pdu.entityLinearVelocity),
        "position": xyz(pdu.entityLocation),
        "angles": [angles.psi, angles.theta, angles.phi],
        "appearance": pdu.entityAppearance,
        "capabilities": pdu.capabilities,
        "model": reckoning.deadReckoningAlgorithm,
        "acceleration": xyz(reckoning.entityLinearAcceleration),
        "angular_velocity": xyz(reckoning.entityAngularVelocity),
        "marking": bytes(pdu.marking.characters).rstrip(b"\0").decode("ascii"),
        "parameters": len(pdu.variableParameters),
    })


for line in sys.stdin:
    verb, _, rest = line.strip().partition(" ")
    print(make(json.loads(rest)) if verb == "make" else read(rest), flush=True)
