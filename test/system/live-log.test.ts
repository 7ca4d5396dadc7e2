import t from "tap";
import { startFoyer, until } from "../helper.js";
import { Person, shortFolder, signer } from "./person.js";

type Line = { msg: string; connection?: string } & Record<string, unknown>;

void t.test("the log follows a websocket, and holds no secret", async (t) => {
  const dataDir = shortFolder(t);
  const server = await startFoyer(t, dataDir, ["--demo"], {
    LOG_LEVEL: "trace",
  });
  const { token } = (await signer(dataDir))("ann", "admin");
  const ann = await Person.connect(t, server.port);
  ann.send("authenticate", { token: `${token}x` });
  ann.send("authenticate", { token: "text-of-a-bad-token" });
  ann.send("text-of-a-command", "text-of-an-id", { text: "text-of-a-payload" });
  ann.ws.send("text-of-no-json");
  await ann.logIn({ token });
  await ann.call("user.update", {
    profile: { display_name: "text-of-a-name" },
  });
  await ann.call("announcement.create", { text: "text-of-an-announcement" });
  await ann.call("announcement.create", { text: 1, state: "text-of-a-state" });
  ann.ws.close(4000, "text-of-a-reason");
  const guest = await Person.connect(t, server.port);
  await guest.logIn({ client_id: "text-of-a-client-id" });
  guest.send("ping", "x".repeat(70_000));
  t.equal(await guest.ended(), 1009);

  const lines = () =>
    server.said.stdout
      .split("\n")
      .filter((line) => line.startsWith('{"level"'))
      .map((line) => JSON.parse(line) as Line);
  const has = (msg: string) => lines().filter((line) => line.msg === msg);
  await until(() => has("websocket ended").length === 2);

  const [opened] = has("websocket opened");
  t.match(opened, { world: "sample", connection: String, level: 20 });
  const own = lines().filter((line) => line.connection === opened!.connection);
  t.match(own, [
    { msg: "websocket opened" },
    { msg: "websocket logged in", user: ann.user },
    { msg: "websocket ended", code: 4000 },
  ]);
  t.match(
    has("websocket ended").map(({ code }) => code),
    [4000, 1009],
  );
  t.notMatch(server.said.stdout, /text-of-/);
  const log = server.said.stdout.replace(/^\{"address".*$/m, "");
  for (const part of token.split(".").slice(1)) t.notMatch(log, part);
});
