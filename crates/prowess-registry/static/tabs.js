// Remembers the agent of the install command, opens the filters on wide screens, sorts on choosing.
(() => {
  const key = "prowess-agent";
  const agents = [...document.querySelectorAll("[data-agent]")];
  try {
    const known = localStorage.getItem(key);
    const button = agents.find((agent) => agent.value === known);
    if (button) button.checked = true;
  } catch {
    // Storage is off: the first agent is chosen.
  }
  for (const agent of agents) {
    agent.addEventListener("change", () => {
      try {
        localStorage.setItem(key, agent.value);
      } catch {
        // The choice holds for this page.
      }
    });
  }
  const wide = matchMedia("(min-width: 1000px)");
  for (const details of document.querySelectorAll("[data-open-wide]")) {
    const set = () => (details.open = wide.matches);
    set();
    wide.addEventListener("change", set);
  }
  for (const select of document.querySelectorAll("[data-submit]")) {
    select.addEventListener("change", () => select.form.requestSubmit());
  }
  const current = document.querySelector('.tabs [aria-current="page"]');
  const tabs = current?.parentElement;
  if (tabs) tabs.scrollLeft = current.offsetLeft - tabs.offsetLeft - 16;
})();
