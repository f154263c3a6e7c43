// Buttons that copy a text. Without a clipboard they stay hidden.
if (navigator.clipboard) {
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    const label = button.getAttribute("aria-label");
    let timer;
    button.addEventListener("click", async () => {
      let said = "Copied";
      try {
        await navigator.clipboard.writeText(button.dataset.copy);
      } catch {
        said = "Not copied: select the text";
      }
      button.dataset.said = said;
      button.setAttribute("aria-label", said);
      clearTimeout(timer);
      timer = setTimeout(() => {
        delete button.dataset.said;
        button.setAttribute("aria-label", label);
      }, 2000);
    });
  }
}
