/**
 * An object whose alarm does what a test tells it, and that notes what happened in rows: they outlive
 * a crash, which is what these tests look at.
 */
import { DurableObject } from "cloudflare:workers"
import { makeDurableObjectHost } from "../../platform/DurableObjectStorage.ts"

/** What the first delivery does after it has armed the next one; later deliveries only note. */
export type FirstDelivery = "end" | "crash"

export class AlarmProbe extends DurableObject {
  readonly host = makeDurableObjectHost(this.ctx)
  #release: () => void = () => undefined
  readonly #released = new Promise<void>((resolve) => (this.#release = resolve))
  readonly #waiters: Array<{ readonly count: number; readonly resolve: () => void }> = []

  /** Arms in `inMillis`; the first delivery arms again, `againMillis` later, and once released does `first`. */
  begin(options: { inMillis: number; againMillis: number; first: FirstDelivery }): void {
    this.host.storage.transaction(() => {
      const { sql, alarm } = this.host.storage
      sql.run("CREATE TABLE plan (againMillis INTEGER, first TEXT) STRICT")
      sql.run("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT) STRICT")
      sql.run("INSERT INTO plan VALUES (?, ?)", options.againMillis, options.first)
      alarm.set(this.host.now() + options.inMillis)
    })
  }

  notes(): ReadonlyArray<string> {
    return this.host.storage.sql
      .all<{ text: string }>("SELECT text FROM notes")
      .map((row) => row.text)
  }

  /** Resolves once there are so many notes. */
  async noted(count: number): Promise<void> {
    if (this.notes().length >= count) return
    await new Promise<void>((resolve) => this.#waiters.push({ count, resolve }))
  }

  /** Lets the first delivery go on. */
  release(): void {
    this.#release()
  }

  #note(text: string): void {
    this.host.storage.sql.run("INSERT INTO notes (text) VALUES (?)", text)
    const { length } = this.notes()
    for (const { count, resolve } of this.#waiters) if (length >= count) resolve()
  }

  override async alarm(): Promise<void> {
    const { sql, alarm } = this.host.storage
    const delivery = sql.all("SELECT 1 FROM notes WHERE text LIKE 'start%'").length + 1
    this.#note(`start ${delivery}, armed: ${String(await alarm.get())}`)
    if (delivery === 1) await this.#firstDelivery()
    this.#note(`end ${delivery}`)
  }

  async #firstDelivery(): Promise<void> {
    const { sql, alarm, transaction, sync } = this.host.storage
    const [plan] = sql.all<{ againMillis: number; first: FirstDelivery }>("SELECT * FROM plan")
    transaction(() => alarm.set(this.host.now() + (plan?.againMillis ?? 0)))
    await sync()
    await this.#released
    if (plan?.first === "crash") this.ctx.abort("the object dies in its alarm")
  }
}
