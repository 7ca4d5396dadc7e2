import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import t from "tap";
import type * as Choice from "../../db/choice.js";

// Tests run from dist/test/db.
const root = fileURLToPath(new URL("../../../", import.meta.url));

const { peerDependencies } = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8"),
) as { peerDependencies: Record<string, string> };

const everything = {
  database: { url: "postgres://localhost/foyer", pool: 1 },
  valkeyUrl: "redis://localhost",
  bucket: {
    bucket: "foyer",
    region: "us-east-1",
    forcePathStyle: false,
    redirect: false,
  },
} satisfies Choice.EngineChoice;

void t.test("engines whose packages are not installed", async (t) => {
  // Outside of the checkout, which has them all.
  const folder = mkdtempSync(join(tmpdir(), "foyer-"));
  t.teardown(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  mkdirSync(join(folder, "db/contract"), { recursive: true });
  for (const name of ["choice.js", "contract/store.js"]) {
    copyFileSync(join(root, "dist/db", name), join(folder, "db", name));
  }
  const { href } = pathToFileURL(join(folder, "db/choice.js"));
  const { refuseMissingPackages } = (await import(href)) as typeof Choice;
  const saidOf = (choice: Choice.EngineChoice) => {
    try {
      refuseMissingPackages(choice);
      return undefined;
    } catch (error) {
      const { name, message } = error as Error;
      t.equal(name, "StoreError");
      t.notMatch(message, /\n/);
      return message;
    }
  };

  t.equal(saidOf({}), undefined);
  const { database, valkeyUrl, bucket } = everything;
  t.match(saidOf({ database }), /^DATABASE_URL: .* npm install pg@8 /);
  t.match(saidOf({ bucket }), /^S3_BUCKET: .* npm install @aws-sdk\/\S+@3 @/);
  t.match(saidOf(everything), /^DATABASE_URL, VALKEY_URL, S3_BUCKET: /);

  const install = (name: string) => {
    const path = join(folder, "node_modules", name);
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, "index.js"), "");
  };
  install("pg");
  t.equal(saidOf({ database }), undefined);
  t.match(
    saidOf({ database, valkeyUrl }),
    /^VALKEY_URL: .* npm install @redis\/client@6 /,
  );
  const said = saidOf(everything)!;
  const asked = [...said.matchAll(/(\S+)@(\d+)(?= )/g)].map(
    ([, name, major]) => `${name} ^${major}`,
  );
  t.strictSame(
    asked,
    Object.entries(peerDependencies)
      .filter(([name]) => name !== "pg")
      .map(([name, range]) => `${name} ${range.split(".", 1)[0]}`)
      .sort((a, b) => asked.indexOf(a) - asked.indexOf(b)),
    "the versions that the manifest names",
  );
  Object.keys(peerDependencies).forEach(install);
  t.equal(saidOf(everything), undefined);
});
