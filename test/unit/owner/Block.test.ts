/** What every block of an owner does besides its own work. */
import { expect, it } from "vitest"
import { OwnerId, ThreadId } from "../../../contracts/Identifiers.ts"
import { makeLimits } from "../../../contracts/Limits.ts"
import { type Block, laneOrNew, runBlock, writeLane } from "../../../owner-object/Block.ts"
import { beginLife } from "../../../owner-object/Life.ts"
import { makeNodeHost, openNodeStorage } from "../../../platform/NodeStorage.ts"

const tenant = OwnerId.make("tenant")

it("repairs an alarm that the platform gave up, whatever it writes, and writes none for nothing", () => {
  const storage = openNodeStorage()
  const host = makeNodeHost({ name: "tenant", storage })
  const inNewLife = (body: (block: Block) => void) =>
    runBlock(host, beginLife(host, tenant, storage.alarmAt()), makeLimits(), () => undefined, body)
  inNewLife((block) => {
    const { before, lane } = laneOrNew(block, ThreadId.make("a"))
    writeLane(block, before, { ...lane, mustVisit: true }, { afterTurn: false })
  })
  expect(storage.alarmAt()).not.toBeNull()
  storage.alarm.delete()
  inNewLife(() => undefined)
  expect(storage.alarmAt()).toBeNull()
  inNewLife((block) => {
    block.maintenance = { ...block.maintenance, unfinished: 1 }
  })
  expect(storage.alarmAt()).not.toBeNull()
})
