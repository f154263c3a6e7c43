// Runs before the first paint, so that no page flashes in the other theme.
(() => {
  const root = document.documentElement;
  const key = "prowess-theme";
  const order = ["system", "light", "dark"];
  let chosen = "system";
  try {
    chosen = localStorage.getItem(key) ?? "system";
  } catch {
    // Storage is off: the system's theme holds.
  }
  const apply = () => {
    if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
    else delete root.dataset.theme;
  };
  apply();
  root.classList.add("has-scripts");
  addEventListener("DOMContentLoaded", () => {
    for (const button of document.querySelectorAll("[data-theme-toggle]")) {
      button.hidden = false;
      const name = () => button.setAttribute("aria-label", `Change the colour theme, now ${chosen}`);
      name();
      button.addEventListener("click", () => {
        chosen = order[(order.indexOf(chosen) + 1) % order.length];
        try {
          localStorage.setItem(key, chosen);
        } catch {
          // The choice holds for this page.
        }
        apply();
        name();
      });
    }
  });
})();
