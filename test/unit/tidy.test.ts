/**
 * The rules of the repository that a linter cannot know. Each is shown to find a small bad sample
 * (and to pass its good twin), then holds for the working tree.
 */
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import * as imports from "../tidy/imports.ts"
import { lockfileIsSound } from "../tidy/lockfile.ts"
import * as places from "../tidy/places.ts"
import {
  readRepository,
  type Repository,
  repositoryOf,
  type Violation,
} from "../tidy/Repository.ts"
import * as words from "../tidy/words.ts"

type Rule = (repository: Repository) => ReadonlyArray<Violation>
type Texts = Readonly<Record<string, string>>

interface Sample {
  /** Breaks the rule; `finds` is part of what the rule must say, one entry for each violation. */
  readonly bad: Texts
  readonly finds: ReadonlyArray<string>
  /** Looks alike and is right. */
  readonly good: Texts
}

interface Fact {
  readonly title: string
  readonly rule: Rule
  readonly samples: ReadonlyArray<Sample>
}

const unfinished = ["TO", "DO"].join("")
const machinePath = ["", "home", "ada", "heddle"].join("/")
const manifest = (dependencies: Texts, devDependencies: Texts = {}) =>
  JSON.stringify({ dependencies, devDependencies })
const lock = (packages: Readonly<Record<string, object>>) => JSON.stringify({ packages })

const importFacts: ReadonlyArray<Fact> = [
  {
    title: "imports between folders point one way",
    rule: imports.arrowsPointOneWay,
    samples: [
      {
        bad: { "contracts/A.ts": `import type { B } from "../platform/B.ts"` },
        finds: ["contracts/A.ts:1: contracts may not import platform"],
        good: { "thread-actors/A.ts": `import { B } from "../platform/B.ts"` },
      },
      {
        bad: { "platform/A.ts": `export * from "../contracts/B.ts"` },
        finds: ["platform may not import contracts"],
        good: { "platform/A.ts": `export * from "./B.ts"` },
      },
      {
        bad: {
          "thread-actors/A.ts": `\ntype B = import("../owner-object/B.ts").B`,
          "owner-object/A.ts": `const b = await import("../thread-actors/B.ts")`,
        },
        finds: [
          "A.ts:2: thread-actors may not import owner-object",
          "may not import thread-actors",
        ],
        good: { "owner-object/A.ts": `// import { B } from "../thread-actors/B.ts"` },
      },
      {
        bad: { "client/deep/A.ts": `export { B } from "../../platform/B.ts"` },
        finds: ["client may not import platform"],
        good: { "client/deep/A.ts": `export { B } from "../../contracts/B.ts"` },
      },
      {
        bad: { "heddle.ts": `import "./test/A.ts"`, "examples/A.ts": `import "../scripts/B.ts"` },
        finds: ["heddle.ts may not import test", "examples may not import scripts"],
        good: { "heddle.ts": `import "./client/A.ts"`, "test/A.ts": `import "../scripts/B.ts"` },
      },
      {
        bad: { "utilities/A.ts": "export {}" },
        finds: ["no arrows are declared for utilities"],
        good: {},
      },
    ],
  },
  {
    title: "imports never go in a circle",
    rule: imports.importsHaveNoCycles,
    samples: [
      {
        bad: {
          "contracts/A.ts": `import { B } from "./B.ts"`,
          "contracts/B.ts": `import type { C } from "./deep/C.ts"`,
          "contracts/deep/C.ts": `import { A } from "../A.ts"`,
        },
        finds: ["contracts/A.ts → contracts/B.ts → contracts/deep/C.ts → contracts/A.ts"],
        good: {
          "contracts/A.ts": `import "./B.ts"\nimport "./C.ts"`,
          "contracts/B.ts": `import "./C.ts"`,
          "contracts/C.ts": "export {}",
        },
      },
    ],
  },
  {
    title: "a relative import names a file that is there, with its extension",
    rule: imports.relativeImportsNameTheirFile,
    samples: [
      {
        bad: { "client/A.ts": `import "./B"\nimport "./C.js"\nimport "./D.ts"` },
        finds: ["client/A.ts:1: ./B", "client/A.ts:2: ./C.js", "client/A.ts:3: ./D.ts"],
        good: { "client/A.ts": `import "./B.ts"\nimport "effect"`, "client/B.ts": "export {}" },
      },
    ],
  },
  {
    title: "product code imports only packages that its users get",
    rule: imports.productImportsWhatUsersGet,
    samples: [
      {
        bad: {
          "package.json": manifest({ effect: "1" }, { vite: "1" }),
          "client/A.ts": `import "vite"\nimport "@effect/platform/B"`,
        },
        finds: ["client/A.ts:1: vite", "@effect/platform/B"],
        good: {
          "package.json": manifest({ effect: "1", "@scope/a": "1" }, { vite: "1" }),
          "client/A.ts": `import "effect/rpc"\nimport "@scope/a/b"\nimport "cloudflare:workers"`,
          "scripts/A.ts": `import "vite"`,
        },
      },
      {
        bad: { "package.json": manifest({}), "contracts/A.ts": `import "node:crypto"` },
        finds: ["contracts/A.ts:1: node:crypto"],
        good: { "package.json": manifest({}), "platform/A.ts": `import "node:crypto"` },
      },
    ],
  },
  {
    title: "the console knows the product as any caller does",
    rule: imports.consoleImportsTheSdkAlone,
    samples: [
      {
        bad: {
          "console/pages/A.tsx": `import { B } from "../../client/Http.ts"\nimport "effect"\nimport "node:fs"`,
        },
        finds: ["console/pages/A.tsx:1: ../../client/Http.ts", "A.tsx:2: effect", "A.tsx:3: node"],
        good: {
          "console/pages/A.tsx": `import { h } from "preact"\nimport "preact/hooks"\nimport { B } from "../../client/sdk/index.ts"\nimport { C } from "../lib/C.ts"\nexport const D = () => <p class="d">text</p>`,
        },
      },
    ],
  },
]

const placeFacts: ReadonlyArray<Fact> = [
  {
    title: "effects are run in the membranes, each of which does",
    rule: (repository) =>
      places.effectsRunInMembranes(
        repository,
        repository.texts.has("sample") ? ["client/Door.ts"] : places.membranes,
      ),
    samples: [
      {
        bad: {
          sample: "",
          "client/Door.ts": "Effect.runPromise(a)",
          "client/A.ts": "\nEffect.runForkWith(c)(a); runtime.runSyncExit(a)",
        },
        finds: ["client/A.ts:2: Effect.runForkWith", "client/A.ts:2: runtime.runSyncExit"],
        good: {
          sample: "",
          "client/Door.ts": "make().runPromise(a)",
          "client/A.ts": "run.step(); // Effect.runPromise\nconst text = 'runSync'",
          "test/A.ts": "Effect.runPromise(a)",
        },
      },
      {
        bad: { sample: "", "client/Door.ts": "export {}" },
        finds: ["client/Door.ts: may run effects but does not"],
        good: { sample: "", "client/Door.ts": "Effect.runCallback(a)" },
      },
    ],
  },
  {
    title: "one file writes the alarm, and threads have none",
    rule: places.oneFileWritesTheAlarm,
    samples: [
      {
        bad: {
          "owner-object/Pass.ts": "host.storage.alarm.set(1)\nstate.storage.setAlarm(2)",
          "thread-actors/A.ts": "this.storage.alarm.delete()",
        },
        finds: ["Pass.ts:1: host.storage.alarm.set", "Pass.ts:2:", "thread-actors/A.ts:1:"],
        good: {
          "owner-object/AlarmSlot.ts": "slot.set(1); storage.alarm.delete()",
          "owner-object/Pass.ts": "AlarmSlot.armRetry(storage.alarm, 1); marks.set(1, 2)",
          "platform/A.ts": "state.storage.setAlarm(1)",
        },
      },
      {
        bad: {
          "owner-object/A.ts": `import type { AlarmSlot } from "../platform/ObjectStorage.ts"`,
        },
        finds: ["owner-object/A.ts:1: only owner-object/AlarmSlot.ts may hold"],
        good: { "owner-object/A.ts": `import type { Sql } from "../platform/ObjectStorage.ts"` },
      },
    ],
  },
  {
    title: "objects take time, chance and timers from their host",
    rule: places.objectsUseTheirHost,
    samples: [
      {
        bad: {
          "contracts/A.ts": "const a = Date.now(); setTimeout(f, 1)",
          "thread-actors/A.ts": "const a = new Date()\nconst b = `${Math.random()}`",
          "owner-object/A.ts": "globalThis.setInterval(f, 1); crypto.randomUUID()",
        },
        finds: [
          "contracts/A.ts:1: Date.now",
          "contracts/A.ts:1: setTimeout",
          "thread-actors/A.ts:1: new Date()",
          "thread-actors/A.ts:2: Math.random",
          "owner-object/A.ts:1: globalThis.setInterval",
          "owner-object/A.ts:1: crypto.randomUUID",
        ],
        good: {
          "contracts/A.ts": "const id = crypto.randomUUID() // not Date.now()",
          "thread-actors/A.ts": "host.now(); host.random(); new Date(host.now())",
          "platform/A.ts": "Date.now()",
        },
      },
    ],
  },
  {
    title: "the console asks one file what time it is",
    rule: places.oneFileAsksTheReadersClock,
    samples: [
      {
        bad: { "console/pages/A.tsx": "const a = Date.now()\nconst b = new Date()" },
        finds: ["console/pages/A.tsx:1: Date.now", "console/pages/A.tsx:2: new Date()"],
        good: {
          "console/pages/A.tsx": "const a = present(); new Date(a)",
          "console/state/Now.ts": "Date.now()",
        },
      },
    ],
  },
  {
    title: "one adapter and the two classes know the platform's state",
    rule: places.oneAdapterKnowsThePlatform,
    samples: [
      {
        bad: { "client/A.ts": "const f = (state: DurableObjectState) => state" },
        finds: ["client/A.ts:1: DurableObjectState"],
        good: {
          "platform/DurableObjectStorage.ts": "const f = (state: DurableObjectState) => state",
          "client/A.ts": "const f = (namespace: DurableObjectNamespace) => namespace",
        },
      },
    ],
  },
  {
    title: "a unit test that takes over its process runs alone",
    rule: places.whoTakesOverIsAlone,
    samples: [
      {
        bad: {
          "test/unit/A.test.ts": "vi.useFakeTimers()",
          "test/unit/B.test.ts": "vi\n  .spyOn(console, method)",
          "examples/C.test.ts": 'import { logged } from "../test/unit/owner/logged.ts"',
        },
        finds: ["test/unit/A.test.ts: takes over", "unit/B.test.ts: takes", "examples/C.test.ts"],
        good: {
          "test/unit/sdk/http.test.ts": "vi.useFakeTimers()",
          "test/unit/A.test.ts": "vi.spyOn(world.storage, method)",
          "test/process/A.test.ts": "vi.useFakeTimers()",
        },
      },
    ],
  },
]

const wordFacts: ReadonlyArray<Fact> = [
  {
    title: "an invariant's label is declared in the header and upheld by a line",
    rule: words.invariantLabelsResolve,
    samples: [
      {
        bad: { "client/A.ts": "/**\n * Owns it.\n *\n * - A1 Holds.\n */\nconst a = 1 // A2" },
        finds: ["client/A.ts:6: A2 is not in the file's header", "no line upholds A1"],
        good: {
          "client/A.ts":
            "/**\n * - A1 Holds.\n * - A2 Too.\n * - A3 Too.\n */\nif (a) // A1, A2\n  b() // A2 A3",
          "client/B.ts": "/** Owns it. */\nconst url = 1 // as in RFC 8785",
          "client/C.ts": "/**\n * - A1 Holds.\n */\n/**\n * All of it. // A1\n */\nconst a = 1",
        },
      },
      {
        bad: { "client/A.ts": "/**\n * - A1 Holds.\n * - A1 Again.\n */\nconst a = 1 // A1" },
        finds: ["A1 is declared twice"],
        good: { "client/A.ts": "/**\n * - A1 Holds.\n */\nconst a = 1 // A1\nconst b = 2 // A1" },
      },
      {
        bad: { "client/A.ts": "/**\n * - A1 Holds.\n */\n// A1 is kept.\nconst text = '// A1'" },
        finds: ["no line upholds A1"],
        good: {},
      },
    ],
  },
  {
    title: "a file of code opens with what it owns",
    rule: words.codeOpensWithWhatItOwns,
    samples: [
      {
        bad: {
          "client/A.ts": "// Owns it.\nexport {}",
          "scripts/A.ts": "export {}\n/** Late. */",
          "console/A.tsx": "export const A = () => <p>/** text */</p>",
        },
        finds: ["client/A.ts: opens", "scripts/A.ts: opens", "console/A.tsx: opens without"],
        good: { "client/A.ts": "/** Owns it. */\nexport {}", "test/A.test.ts": "export {}" },
      },
    ],
  },
  {
    title: "a file stays below 400 lines, unless it is a test or generated",
    rule: words.filesStaySmall,
    samples: [
      {
        bad: { "client/A.ts": "export {}\n".repeat(401), "test/A.ts": "export {}\n".repeat(500) },
        finds: ["client/A.ts: 401 lines", "test/A.ts: 500 lines"],
        good: {
          "client/A.ts": ";\n".repeat(400),
          "client/generated/A.ts": ";\n".repeat(500),
          "test/A.test.ts": ";\n".repeat(500),
        },
      },
    ],
  },
  {
    title: "no text speaks of work that is left to do",
    rule: words.nothingIsLeftUnfinished,
    samples: [
      {
        bad: { "docs/a.md": `fine\n${unfinished}: more`, "client/A.ts": `// ${unfinished}` },
        finds: ["docs/a.md:2", "client/A.ts:1"],
        good: { "docs/a.md": "mastodon", "client/A.ts": "const toDo = 1" },
      },
    ],
  },
  {
    title: "no test is left out, and none runs alone",
    rule: words.everyTestRuns,
    samples: [
      {
        bad: { "test/A.test.ts": "it.only('a', f)\ndescribe.skip('b', f); it.each.skip(c)" },
        finds: ["test/A.test.ts:1: it.only", "describe.skip", "it.each.skip"],
        good: { "test/A.test.ts": "it('a', f); page.skip(1); // it.only\nconst text = 'it.only('" },
      },
      {
        bad: { "test/A.test.ts": "it.effect.skip('a', f); describe.todo('b'); it.skipIf(c)" },
        finds: ["it.effect.skip", "describe.todo", "it.skipIf"],
        good: { "test/A.test.ts": "it.effect('a', f)" },
      },
    ],
  },
  {
    title: "the files under “Follow one submission” are there",
    rule: words.readingListExists,
    samples: [
      {
        bad: {
          "README.md":
            "## Follow one submission\n`client/A.ts`, [b](client/B.ts)\n## Next\n`x/C.ts`",
          "client/A.ts": "export {}",
        },
        finds: ["client/B.ts does not exist"],
        good: {
          "README.md": "# Heddle\n## Follow one submission\n1. `client/A.ts`\n",
          "client/A.ts": "export {}",
        },
      },
      {
        bad: { "README.md": "## Something else\n`client/A.ts`", "client/A.ts": "export {}" },
        finds: ["no files are named"],
        good: { "README.md": "## Follow one submission\n`heddle.ts`", "heddle.ts": "export {}" },
      },
    ],
  },
  {
    title: "decisions are numbered, each number once",
    rule: words.decisionsAreNumbered,
    samples: [
      {
        bad: {
          "docs/decisions/001-a.md": "",
          "docs/decisions/001-b.md": "",
          "docs/decisions/c.md": "",
        },
        finds: ["001-b.md: docs/decisions/001-a.md has this number", "c.md: is not named"],
        good: { "docs/decisions/001-a.md": "", "docs/decisions/030-b.md": "" },
      },
    ],
  },
  {
    title: "no text holds a path of somebody's machine",
    rule: words.noMachinePaths,
    samples: [
      {
        bad: { "docs/a.md": `fine\nsee ${machinePath}` },
        finds: ["docs/a.md:2"],
        good: { "docs/a.md": "see /rpc and https://example.org/home/page" },
      },
    ],
  },
]

const lockFacts: ReadonlyArray<Fact> = [
  {
    title: "one workerd and the pinned vite are locked, from no private registry",
    rule: lockfileIsSound,
    samples: [
      {
        bad: {
          "package.json": manifest({}, { vite: "8.3.8" }),
          "package-lock.json": lock({
            "node_modules/workerd": { version: "1.1.0" },
            "node_modules/wrangler/node_modules/workerd": { version: "1.2.0" },
            "node_modules/vite": { version: "8.3.8" },
            "node_modules/vitest/node_modules/vite": { version: "8.4.0" },
            "node_modules/a": { resolved: "https://packages.example.org/a.tgz" },
          }),
        },
        finds: [
          "workerd is locked as [1.1.0, 1.2.0]",
          "vite is locked as [8.3.8, 8.4.0]",
          "example.org",
        ],
        good: {
          "package.json": manifest({}, { vite: "8.3.8" }),
          "package-lock.json": lock({
            "node_modules/workerd": { version: "1.1.0" },
            "node_modules/b/node_modules/workerd": { version: "1.1.0" },
            "node_modules/vite": { version: "8.3.8" },
            "node_modules/a": { resolved: "https://registry.npmjs.org/a/-/a-1.0.0.tgz" },
          }),
        },
      },
      {
        bad: { "package.json": manifest({}, { vite: "8.3.8" }), "package-lock.json": lock({}) },
        finds: ["workerd is locked as []", "vite is locked as []"],
        good: {
          "package.json": manifest({}, { vite: "1.0.0" }),
          "package-lock.json": lock({
            "node_modules/workerd": { version: "1.1.0" },
            "node_modules/vite": { version: "1.0.0" },
          }),
        },
      },
    ],
  },
]

const facts = [...importFacts, ...placeFacts, ...wordFacts, ...lockFacts]

const repository = readRepository(join(import.meta.dirname, "..", ".."))

describe.each(facts)("$title", ({ rule, samples }) => {
  it("is seen when broken, and only then", () => {
    for (const { bad, finds, good } of samples) {
      const found = rule(repositoryOf(bad))
      expect(found).toEqual(finds.map((part) => expect.stringContaining(part)))
      expect(rule(repositoryOf(good))).toEqual([])
    }
  })

  it("holds here", () => {
    expect(rule(repository)).toEqual([])
  })
})

describe("the rules", () => {
  it("see the whole repository", () => {
    const folders = new Set(repository.sources.map((file) => file.path.split("/")[0]))
    for (const folder of [
      "contracts",
      "platform",
      "thread-actors",
      "owner-object",
      "client",
      "test",
    ])
      expect(folders).toContain(folder)
    expect([...repository.texts.keys()]).toEqual(
      expect.arrayContaining(["package-lock.json", "LICENSE", ".gitignore", "vitest.config.ts"]),
    )
  })
})
