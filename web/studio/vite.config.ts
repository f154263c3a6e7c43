import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

/** The server that `cargo xtask web --dev` hands API requests to. */
const server = process.env["PROWESS_STUDIO_URL"] ?? "http://127.0.0.1:8787";

export default defineConfig({
  plugins: [svelte()],
  build: {
    target: "es2023",
    // A `data:` URL is not allowed by the content security policy.
    assetsInlineLimit: 0,
    // The manifest tells `cargo xtask web` what a first visit loads.
    manifest: true,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // `tools/finish.mjs` has a budget for what a visitor really loads.
    chunkSizeWarningLimit: 1000,
  },
  server: {
    fs: { allow: ["..", "."] },
    proxy: { "/api": server, "/health": server, "/metrics": server },
  },
  test: {
    // A test that needs a document says so in its first line.
    environment: "node",
    include: ["src/**/*.test.ts"],
  },
});
