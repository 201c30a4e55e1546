/**
 * Builds the CLI into one file that imports nothing but Node's own modules: the package's dependencies
 * stay what a Worker needs. `node scripts/buildCli.ts [FOLDER]` (default dist/cli) writes heddle.js there.
 */
import { chmod } from "node:fs/promises"
import { join, resolve } from "node:path"
import { build } from "vite"
import { callersFolder } from "./flags.ts"
import { repositoryRoot } from "./workerBuild.ts"

/** Builds into the folder, and gives the path of the file. */
export const buildCli = async (folder: string): Promise<string> => {
  await build({
    configFile: false,
    root: repositoryRoot,
    logLevel: "warn",
    publicDir: false,
    ssr: { noExternal: true, target: "node" },
    build: {
      ssr: true,
      target: "node20",
      minify: true,
      // What is in the file keeps its terms beside it.
      license: { fileName: "licenses.md" },
      outDir: folder,
      emptyOutDir: true,
      rollupOptions: {
        input: { heddle: join(repositoryRoot, "cli", "main.ts") },
        output: {
          format: "es",
          entryFileNames: "heddle.js",
          codeSplitting: false,
          banner: "#!/usr/bin/env node",
        },
      },
    },
  })
  const path = join(folder, "heddle.js")
  await chmod(path, 0o755)
  return path
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2)
  await buildCli(
    folder === undefined ? join(repositoryRoot, "dist", "cli") : resolve(callersFolder(), folder),
  )
}
