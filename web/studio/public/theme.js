// Runs before the first paint, so that a chosen theme does not flash.
try {
  var theme = localStorage.getItem("prowess.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage is blocked: the system's theme applies.
}
