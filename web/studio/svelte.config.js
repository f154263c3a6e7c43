import { vitePreprocess } from "@sveltejs/vite-plugin-svelte";

export default {
  preprocess: vitePreprocess(),
  compilerOptions: {
    // A file of this project is in runes mode; a package decides for itself.
    runes: ({ filename }) => (filename.includes("node_modules") ? undefined : true),
  },
};
