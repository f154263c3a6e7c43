// Suggests names; the last row leads to all results.
for (const input of document.querySelectorAll("[data-suggest]")) {
  const list = document.createElement("ul");
  let at, asked;
  const show = (rows) => {
    list.replaceChildren(...rows);
    list.hidden = !rows.length;
    at = -1;
    input.ariaExpanded = !list.hidden;
    input.removeAttribute("aria-activedescendant");
  };
  const row = ({ name, description, href }, index) => {
    const item = document.createElement("li");
    item.append(name, document.createElement("span"));
    item.lastChild.append(description);
    item.go = item.onmousedown = () => location.assign(href);
    return Object.assign(item, { id: list.id + index, role: "option" });
  };
  Object.assign(list, { className: "suggestions", id: `${input.id}-list`, role: "listbox", ariaLabel: "Suggestions" });
  Object.assign(input, { role: "combobox", ariaAutoComplete: "list" });
  input.setAttribute("aria-controls", list.id);
  input.after(list);
  show([]);
  input.oninput = async () => {
    asked?.abort();
    asked = new AbortController();
    const words = input.value.trim();
    if (!words[1]) return show([]);
    const href = `/search?q=${encodeURIComponent(words)}`;
    try {
      const answer = await fetch(href.replace("?", "/suggest?full=1&"), asked);
      const found = await answer.json();
      show([...found, { name: `See all results for “${words}”`, description: "", href }].map(row));
    } catch {}
  };
  input.onkeydown = (event) => {
    const rows = [...list.children];
    if (event.key === "Escape") show([]);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const enter = event.key === "Enter" && rows[at];
    if (!enter && !(step && rows.length)) return;
    event.preventDefault();
    if (enter) return enter.go();
    at = (Math.max(at, -(step > 0)) + step + rows.length) % rows.length;
    rows.forEach((r, i) => (r.ariaSelected = i === at));
    input.setAttribute("aria-activedescendant", rows[at].id);
  };
  input.onblur = () => show([]);
}
