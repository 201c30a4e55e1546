/**
 * The host on Cloudflare: the only file that knows `DurableObjectState`.
 */
import type { ObjectHost } from "./ObjectHost.ts"
import {
  checkBindings,
  makeTransaction,
  type ObjectStorage,
  ofStorage,
  type SqlRow,
  type SqlValue,
} from "./ObjectStorage.ts"
import { makeUuidGenerator, secretOf } from "./Uuid.ts"

/** A lone surrogate as one U+FFFD, which is what a hash takes it for; bound as it is it gives three. */
const wellFormed = (value: SqlValue): SqlValue =>
  typeof value === "string" ? value.toWellFormed() : value

const makeStorage = (state: DurableObjectState): ObjectStorage => {
  const counts = { read: 0, written: 0, alarmWrites: 0 }
  const execute = (statement: string, bindings: ReadonlyArray<SqlValue>): Array<SqlRow> => {
    checkBindings(bindings)
    return ofStorage(() => {
      const cursor = state.storage.sql.exec(statement, ...bindings.map(wellFormed))
      const rows = cursor.toArray() as Array<SqlRow>
      counts.read += cursor.rowsRead
      counts.written += cursor.rowsWritten
      return rows
    })
  }
  return {
    sql: {
      all: <Row extends SqlRow>(statement: string, ...bindings: ReadonlyArray<SqlValue>) =>
        execute(statement, bindings) as unknown as ReadonlyArray<Row>,
      run: (statement, ...bindings) => void execute(statement, bindings),
    },
    alarm: {
      get: () => state.storage.getAlarm(),
      // Not awaited: the write joins the transaction around it, and the output gate waits for it.
      set: (atMillis) => {
        counts.alarmWrites += 1
        void state.storage.setAlarm(atMillis)
      },
      delete: () => {
        counts.alarmWrites += 1
        void state.storage.deleteAlarm()
      },
    },
    transaction: makeTransaction((block) => state.storage.transactionSync(block)),
    sync: () => state.storage.sync(),
    databaseBytes: () => state.storage.sql.databaseSize,
    counts: () => ({ ...counts }),
  }
}

const randomBytes = (length: number): Uint8Array => crypto.getRandomValues(new Uint8Array(length))

/** The host of a Durable Object. Does nothing that can fail. */
export const makeDurableObjectHost = (state: DurableObjectState): ObjectHost => ({
  name: state.id.name,
  storage: makeStorage(state),
  now: () => Date.now(),
  random: () => Math.random(),
  uuid: makeUuidGenerator({ now: () => Date.now(), randomBytes }),
  secret: () => secretOf({ randomBytes }),
  waitUntil: (promise) => state.waitUntil(promise),
  macrotask: (task) => void setTimeout(task, 0),
})
