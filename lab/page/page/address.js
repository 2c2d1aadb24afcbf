// Keeps the state of every control in the page's address, so that a view can be shared. Defaults are left out.

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
