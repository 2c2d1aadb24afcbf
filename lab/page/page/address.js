// Keeps the state of every control in the page's address, so that a view can be shared. Defaults are left out. An
// address is typed, shortened and shared by people: every value is checked here, and what is not valid is replaced.

export function address(name) {
  return new URLSearchParams(location.search).get(name);
}

export function remember(name, value, usual) {
  const all = new URLSearchParams(location.search);
  if (String(value) === String(usual)) all.delete(name);
  else all.set(name, value);
  const text = all.toString();
  history.replaceState(null, "", text ? `?${text}` : "?");
}

// Returns the nearest valid value of a range; the default if it is not a number.
export function nearest(value, { low, high, step, usual }) {
  if (!Number.isFinite(value)) return usual;
  const steps = Math.round((Math.min(high, Math.max(low, value)) - low) / step);
  return Math.min(high, Number((low + steps * step).toFixed(6)));
}

// Returns a number of the address as a valid value of its range, and corrects the address.
export function numberAt(name, range) {
  const text = address(name);
  if (text === null) return range.usual;
  const value = nearest(text.trim() === "" ? NaN : Number(text), range);
  if (String(value) !== text) remember(name, value, range.usual);
  return value;
}

// Returns a value of the address that is one of a list, else the default, and corrects the address.
export function choiceAt(name, choices, usual) {
  const text = address(name);
  const value = choices.find((choice) => String(choice) === text) ?? usual;
  if (text !== null && String(value) !== text) remember(name, value, usual);
  return value;
}

// Returns `host:port` of the address, or nothing if it is something else.
export function hostAt(name) {
  const text = address(name);
  if (text === null) return null;
  const [, port] = /^(?:[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):(\d{1,5})$/.exec(text) ?? [];
  if (port !== undefined && Number(port) >= 1 && Number(port) <= 65535) return text;
  remember(name, "", "");
  return null;
}
