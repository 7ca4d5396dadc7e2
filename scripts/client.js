import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import ts from "typescript";
import { build } from "vite";

// Builds the foyer-client package from the compiler's output in dist/: one module, and types that
// need no other package. scripts/build.js runs this.

const FROM = "dist/client";
const SCHEMAS = "dist/schemas/live/index.d.ts";
const PACKAGE = "packages/client";
const OUT = join(PACKAGE, "dist");

/** Bundlers for browsers use a module of the package instead of `ws`, which needs Node.js. */
const ws = {
  name: "ws",
  enforce: "pre",
  resolveId: (id) => (id === "ws" ? { id: "#ws", external: true } : undefined),
};

rmSync(OUT, { recursive: true, force: true });
await build({
  configFile: false,
  logLevel: "warn",
  publicDir: false,
  plugins: [ws],
  build: {
    outDir: OUT,
    target: "es2023",
    lib: { entry: join(FROM, "index.js"), formats: ["es"], fileName: () => "index.js" },
    rolldownOptions: { output: { minify: true } },
  },
});
writeFileSync(join(OUT, "no-ws.js"), "export const WebSocket = globalThis.WebSocket;\n");
writeFileSync(join(OUT, "schemas.d.ts"), flatTypes(SCHEMAS));
for (const path of readdirSync(FROM, { recursive: true })) {
  if (!path.endsWith(".d.ts")) continue;
  const target = join(OUT, path);
  mkdirSync(dirname(target), { recursive: true });
  const schemas = relative(dirname(target), join(OUT, "schemas.js"));
  const text = readFileSync(join(FROM, path), "utf8").replaceAll(
    /"[./]+\/schemas\/live\/index\.js"/g,
    JSON.stringify(schemas.startsWith(".") ? schemas : `./${schemas}`),
  );
  writeFileSync(target, text);
}
copyFileSync("LICENSE", join(PACKAGE, "LICENSE"));

/** Returns the exported types of a module in expanded form, without the library that derives them. */
function flatTypes(path) {
  const program = ts.createProgram([path], {
    module: ts.ModuleKind.NodeNext,
    strict: true,
    skipLibCheck: true,
    types: [],
  });
  const checker = program.getTypeChecker();
  const module = checker.getSymbolAtLocation(program.getSourceFile(path));
  const { NoTruncation, InTypeAlias } = ts.TypeFormatFlags;
  return checker
    .getExportsOfModule(module)
    .map((symbol) => {
      const isAlias = symbol.flags & ts.SymbolFlags.Alias;
      const origin = isAlias ? checker.getAliasedSymbol(symbol) : symbol;
      if (!(origin.flags & ts.SymbolFlags.Type)) return "";
      const textOf = (type) => checker.typeToString(type, undefined, NoTruncation | InTypeAlias);
      const type = checker.getDeclaredTypeOfSymbol(origin);
      // An interface would be its own name.
      const fields = checker.getPropertiesOfType(type).map((field) => {
        const isOptional = field.flags & ts.SymbolFlags.Optional;
        return `${field.name}${isOptional ? "?" : ""}: ${textOf(checker.getTypeOfSymbol(field))};`;
      });
      const isInterface = origin.flags & ts.SymbolFlags.Interface;
      const text = isInterface ? `{ ${fields.join(" ")} }` : textOf(type);
      return `export type ${symbol.name} = ${text};\n`;
    })
    .join("");
}
