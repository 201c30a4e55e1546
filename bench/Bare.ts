/** A bare Durable Object with one native method that reads a row: what a call between objects costs without us. */
import { DurableObject } from "cloudflare:workers"

export class Bare extends DurableObject {
  constructor(ctx: DurableObjectState, env: unknown) {
    super(ctx, env as never)
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS status (id INTEGER PRIMARY KEY, text TEXT)")
    ctx.storage.sql.exec("INSERT OR IGNORE INTO status VALUES (1, 'ready')")
  }

  status(): { readonly phase: string; readonly at: number } {
    const [row] = this.ctx.storage.sql
      .exec<{ text: string }>("SELECT text FROM status WHERE id = 1")
      .toArray()
    return { phase: row?.text ?? "", at: Date.now() }
  }
}
