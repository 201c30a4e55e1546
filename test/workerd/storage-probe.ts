/** An object that holds nothing but a host: what the adapter tests are run in. */
import { DurableObject } from "cloudflare:workers"
import { makeDurableObjectHost } from "../../platform/DurableObjectStorage.ts"

export class StorageProbe extends DurableObject {
  readonly host = makeDurableObjectHost(this.ctx)

  /** There so that the platform accepts `setAlarm`; it leaves a row when it is delivered. */
  override async alarm(): Promise<void> {
    this.host.storage.transaction(() => {
      this.host.storage.sql.run("CREATE TABLE IF NOT EXISTS rang (at INTEGER) STRICT")
      this.host.storage.sql.run("INSERT INTO rang VALUES (?)", this.host.now())
    })
  }
}
