// Documents in, passages out.
import { journeys } from "./journey.mjs";

journeys((journey) => {
  journey("files are uploaded side by side, and each says what became of it", async ({ page }) => {
    await page.goto("/knowledge/kb-1");
    await page.getByRole("heading", { name: "house-style" }).waitFor();
    const file = (name, size = 20) => ({
      name,
      mimeType: "text/plain",
      buffer: Buffer.alloc(size, "a"),
    });
    await page
      .locator("input[type=file]")
      .setInputFiles([file("new.txt"), file("budget.pdf"), file("all.zip"), file("huge.txt", 1_000_001)]);
    await page.getByText("Added", { exact: true }).waitFor();
    await page.getByText("Unchanged").waitFor();
    await page.getByText("Refused").waitFor();
    await page.getByText("archives are not read").waitFor();
    await page.getByText("The file is larger than 1.0 MB").waitFor();
    await page.getByText("3 files, 40 chunks").waitFor();
    await page.getByRole("button", { name: "Chunks new.txt" }).click();
    await page.getByText("Chunk 1, page 7").waitFor();
    await page.keyboard.press("Escape");
  });

  journey("a question shows why each passage ranks, and opens it", async ({ page }) => {
    await page.goto("/knowledge/kb-1");
    await page.getByRole("searchbox", { name: "Question" }).fill("deficit");
    await page.keyboard.press("Enter");
    await page.getByText("words: 1st").waitFor();
    await page.getByText("not found by words").waitFor();
    await page.locator("mark", { hasText: "deficit" }).waitFor();
    await page.getByRole("button", { name: "Open at this passage" }).first().click();
    await page
      .locator("dialog mark", {
        hasText: "The deficit fell to 3.2 percent of output.",
      })
      .waitFor();
    await page.keyboard.press("Escape");
  });
});
