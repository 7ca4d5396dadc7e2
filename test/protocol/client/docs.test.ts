import { execFile, spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import t, { type Test } from "tap";
import { startTestServer } from "../../../testing.js";
import { until } from "../../support/helper.js";
import { testdir } from "../../support/testdir.js";

// Runs the programs of docs/client.md, unchanged, against a real server.

const text = await readFile("docs/client.md", "utf8");
const [first, chat, votes, lounge] = [...text.matchAll(/^```js\n(.*?)^```$/gms)].map(
  ([, program = ""]) => program,
);

/** Saves a program in a folder where the package name resolves to this package. */
async function save(t: Test, program: string): Promise<string> {
  const path = join(testdir(t), "program.mjs");
  await writeFile(path, program);
  return path;
}

void t.test("the programs that end by themselves", async (t) => {
  for (const program of [first, chat, votes]) {
    const path = await save(t, program!);
    // Started through env, because tap adds a loader to the environment of every child process.
    const end = await promisify(execFile)("env", ["-i", process.execPath, path]).then(
      () => "ok",
      ({ stderr }: { stderr: string }) => stderr,
    );
    t.equal(end, "ok");
  }
});

/** Starts an interactive terminal program. */
function terminal(t: Test, path: string, ...args: string[]) {
  const child = spawn("env", ["-i", process.execPath, path, ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  t.teardown(() => child.kill("SIGKILL"));
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (more: string) => (said += more));
  const closed = new Promise<unknown>((done) => child.once("close", done));
  return {
    closed,
    type: (line: string) => void child.stdin.write(`${line}\n`),
    /** Waits until the program prints a line, and discards the output up to it. */
    async says(line: string): Promise<void> {
      const end = () => `\n${said}`.indexOf(`\n${line}\n`);
      await until(() => end() >= 0);
      said = said.slice(end() + line.length + 1);
    },
  };
}

void t.test("two people in two terminals", async (t) => {
  const server = await startTestServer();
  t.teardown(() => server.close());
  await server.createWorld({ id: "sample" });
  await server.app.store.rooms.create("sample", {
    name: "Lounge",
    description: "",
    module_config: [],
    permission_config: {},
    sorting_priority: 0,
    domain: null,
  });
  const path = await save(t, lounge!);
  const enter = async (name: string) => {
    const token = await server.token("sample", { uid: name });
    const person = terminal(t, path, name, token, server.baseUrl);
    return person;
  };

  const ada = await enter("Ada");
  await ada.says("In Lounge: Ada");
  const ben = await enter("Ben");
  await ben.says("In Lounge: Ada, Ben");
  await ada.says("Ben is here");

  ben.type("react 👍");
  await ada.says("{ '👍': 1 }");
  await ben.says("{ '👍': 1 }");
  ben.type("react 🧨");
  await ben.says("Unknown reaction");
  ada.type("announce Lunch is ready");
  await ben.says("Announcement: Lunch is ready");

  ben.type("leave");
  await ada.says("Ben left");
  ben.type("enter");
  await ben.says("In Lounge: Ada, Ben");
  await ada.says("Ben is here");

  ada.type("ban Ben");
  await ada.says("Ben left");
  await ben.says("The end: auth.denied");
  t.equal(await ben.closed, 0);
  ada.type("quit");
  t.equal(await ada.closed, 0);
});
