import { Parser } from "@asyncapi/parser";
import t from "tap";
import { asyncapiDocument } from "../../plugins/asyncapi/document.js";
import { commands, type CommandName } from "../../schemas/live/index.js";

// The official parser takes ten seconds, so this is no part of npm test.

const names = Object.keys(commands) as CommandName[];

/** What the official parser says of a document. */
async function diagnosticsOf(document: unknown) {
  const diagnostics = await new Parser().validate(JSON.stringify(document));
  return (
    diagnostics
      // Its advice to use 3.1 is no fault of a document of 3.0.
      .filter(({ code }) => code !== "asyncapi-latest-version")
      .map(({ message, path }) => `${path.join("/")}: ${message}`)
  );
}

void t.test("the official parser has nothing to say about it", async (t) => {
  const document = asyncapiDocument({
    version: "1.0.0",
    publicUrl: "https://example.org/foyer",
    requirements: Object.fromEntries(
      names.map((name) => [name, `the right to ${name}`]),
    ) as Record<CommandName, string>,
  });
  t.match(document.operations, {
    "room.enter": { "x-requires": "the right to room.enter" },
    "user.ban": { "x-requires": "the right to user.ban" },
  });
  t.same(await diagnosticsOf(document), []);
});

void t.test("the official parser sees a broken document", async (t) => {
  const { channels, ...document } = asyncapiDocument({ version: "1.0.0" });
  const { world } = channels as { world: object };
  const broken = {
    ...document,
    channels: { world: { ...world, messages: {} } },
    components: {},
  };
  const found = await diagnosticsOf(broken);
  t.match(found.join(), /messages\/command\.ping|does not exist/);
});
