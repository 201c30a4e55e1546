/** Has the person's browser open an address. Where there is none, nothing happens: the address was printed, too. */
import { spawn } from "node:child_process"

const commandOf = (address: string): readonly [string, ReadonlyArray<string>] => {
  switch (process.platform) {
    case "darwin":
      return ["open", [address]]
    case "win32":
      return ["cmd", ["/c", "start", "", address]]
    default:
      return ["xdg-open", [address]]
  }
}

export const openAddress = (address: string): void => {
  const [command, args] = commandOf(address)
  const child = spawn(command, args, { detached: true, stdio: "ignore" })
  child.on("error", () => undefined)
  child.unref()
}
