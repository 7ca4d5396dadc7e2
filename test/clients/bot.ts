import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Foyer, Live } from "../../client/index.js";
import { until } from "../helper.js";
import { install } from "./shell.js";
import { root } from "./tools.js";
import type { Access } from "./access.js";

/** Runs the bot in Python of docs/bots.md, and asks it for the time. */
export async function tryBot(
  folder: string,
  { baseUrl, token, uploader }: Access,
): Promise<void> {
  const page = await readFile(join(root, "docs/bots.md"), "utf8");
  const program = /^```python\n(.*?)^```$/ms.exec(page)![1]!;
  await writeFile(join(folder, "bot.py"), program);
  await install(folder, "python3", ["-m", "venv", "venv"]);
  const bin = join(folder, "venv/bin");
  await install(folder, join(bin, "pip"), [
    ...["install", "--quiet", "websockets==17.4"],
  ]);
  const foyer = new Foyer({ baseUrl, world: "sample", token });
  const room = await foyer.createRoom({
    ...{ name: "Of bots", module_config: [{ type: "chat.native" }] },
  });
  const address = `${baseUrl.replace("http", "ws")}/ws/world/sample/`;
  const args = ["bot.py", address, uploader, room.name];
  const bot = spawn(join(bin, "python"), args, { cwd: folder });
  let said = "";
  for (const stream of [bot.stdout, bot.stderr]) {
    stream.on("data", (text: Buffer) => (said += text.toString()));
  }
  const live = new Live({ baseUrl, world: "sample", clientId: "curious" });
  try {
    await until(() => said !== "");
    if (!said.startsWith("In Of bots")) throw new Error(said);
    await live.connected();
    await live.call("user.update", { profile: { display_name: "Ada" } });
    const chat = live.channel(room.id);
    await chat.join();
    const events = chat[Symbol.asyncIterator]();
    await chat.send("!time");
    const isTime = ({ body }: { body?: unknown }) =>
      /^\d{4}-\d\d-\d\dT/.test(String(body));
    for (;;) {
      const { value, done } = await events.next();
      if (done) throw new Error("The chat ended.");
      if (isTime(value.content)) break;
    }
  } finally {
    live.close();
    bot.kill("SIGKILL");
    await foyer.deleteRoom(room.id);
  }
}
