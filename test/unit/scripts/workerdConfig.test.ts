import { describe, expect, it } from "vitest"
import type { ServiceBinding, WorkerBuild } from "../../../scripts/workerBuild.ts"
import { workerdConfig } from "../../../scripts/workerdConfig.ts"

const buildOf = (name: string, services: ReadonlyArray<ServiceBinding> = []): WorkerBuild => ({
  name,
  module: "",
  version: "1",
  compatibilityDate: "2026-10-15",
  compatibilityFlags: [],
  objects: [],
  services,
  versionBinding: undefined,
  vars: {},
})

const configOf = (services?: ReadonlyArray<ServiceBinding>) =>
  workerdConfig({
    build: buildOf("heddle"),
    moduleFile: "worker.js",
    persistDir: "/disk",
    port: 0,
    vars: {},
    ...(services && {
      front: { build: buildOf("caller", services), moduleFile: "front.js" },
    }),
  })

describe("the configuration of workerd", () => {
  it("serves one Worker, or the one in front of it", () => {
    expect(configOf()).toContain(`service = "main"`)
    expect(configOf()).not.toContain("front")
    const both = configOf([])
    expect(both).toContain(`service = "front"`)
    expect(both).toContain(`embed "front.js"`)
  })

  it("binds the one in front to an entrypoint of the other, with its props", () => {
    const props = { principal: `sh"op`, owners: ["shop-*"] }
    const config = configOf([{ binding: "HEDDLE", service: "heddle", entrypoint: "Api", props }])
    const [, binding = ""] = /bindings = \[ (\(name = "HEDDLE".*\)) \]/.exec(config) ?? []
    expect(binding).toContain(`service = (name = "main", entrypoint = "Api", props = (json = "`)
    const [, json = ""] = /json = "(.*?)"\)/.exec(binding) ?? []
    const read = json.replaceAll(/\\x([0-9a-f]{2})/g, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
    expect(JSON.parse(read)).toEqual(props)
  })

  it("refuses a binding to a Worker that is not there", () => {
    expect(() => configOf([{ binding: "HEDDLE", service: "other" }])).toThrow(
      "HEDDLE is bound to other, and here is heddle",
    )
  })
})
