import t from "tap";
import { createMetricsApp } from "../../../app.js";
import { loadConfig } from "../../../config.js";
import { serve } from "../../helper.js";

/** The names of the functions of each hook, in the order in which Fastify runs them. */
type Hooks = Record<string, string>;

/** The hooks of each route, as `printRoutes` shows them. */
function hooksIn(printed: string): Map<string, Hooks> {
  const routes = new Map<string, Hooks>();
  const path: string[] = [];
  let current: Hooks = {};
  for (const line of printed.split("\n")) {
    const [, indent = "", text = ""] = /^([│├└─ ]*)(.*)$/.exec(line) ?? [];
    const hook = /^• \((\w+)\) (.*)$/.exec(text);
    if (hook) {
      const names = JSON.parse(hook[2]!) as string[];
      current[hook[1]!] = names.map((name) => name.replace("()", "")).join(" ");
      continue;
    }
    const route = /^(.*) \((.*)\)$/.exec(text);
    if (!route) continue;
    // A line that begins a branch is one level deeper than the text before it.
    const depth = indent.length / 4;
    const [, part = "", methods = ""] = route;
    const isBranch = /[├└]/.test(indent);
    if (isBranch) path.splice(depth - 1, path.length, part);
    current = {};
    routes.set(`${methods} ${path.join("")}`, current);
  }
  return routes;
}

const everywhere =
  "refuseAmbiguous addHeaders awaitTurn refuseUnrouted refuseWhileStopping refuseWhenLate";
const api = "/api/v1/worlds/:world_id";
const room = `${api}/rooms/:room_id`;

void t.test("the hooks of a request, in their order", async (t) => {
  const { load } = loadConfig({});
  const { app } = await serve(t, undefined, {
    config: { load: { ...load, perMinute: 1000 } },
  });
  const routes = hooksIn(
    app.printRoutes({ includeHooks: true, commonPrefix: false }),
  );
  const body = "refuseCoded askForBody";
  const cases: Record<string, Hooks> = {
    "GET /healthz": { onRequest: everywhere },
    [`GET ${room}`]: { onRequest: `${everywhere} guard limitRate` },
    [`POST ${api}/rooms`]: {
      onRequest: `${everywhere} takeSlot guard limitRate`,
      preParsing: body,
    },
    [`PATCH ${room}`]: {
      onRequest: `${everywhere} takeSlot guard limitRate`,
      preParsing: body,
      preHandler: "refuseOtherId",
    },
    "POST /storage/upload": {
      onRequest: `${everywhere} anonymous takeSlot guard limitRate refuseOtherThanForms`,
      preParsing: "askForBody",
      // @fastify/multipart has anonymous hooks.
      onResponse: "anonymous",
      onError: "dropBody",
    },
  };
  for (const [route, expected] of Object.entries(cases)) {
    t.strictSame(routes.get(route), expected, route);
  }
});

void t.test("with CORS, a log and metrics", async (t) => {
  const { app } = await serve(t, undefined, {
    config: {
      corsOrigins: "*",
      metrics: { host: "", port: undefined, token: "x" },
    },
    logger: { ...console, level: "debug", debug() {} } as never,
  });
  const routes = hooksIn(
    app.printRoutes({ includeHooks: true, commonPrefix: false }),
  );
  t.strictSame(routes.get(`GET ${room}`), {
    onRequest:
      "refuseAmbiguous addHeaders awaitTurn refuseOtherThanPreflight handleCors refuseUnrouted refuseWhileStopping refuseWhenLate guard",
    onResponse: "logRequest measure",
  });
});

void t.test(
  "the port of the metrics leaves out what only an API needs",
  async (t) => {
    const { app } = await serve(t);
    const metrics = createMetricsApp(app, "x");
    t.teardown(() => metrics.close());
    await metrics.ready();
    const routes = hooksIn(
      metrics.printRoutes({ includeHooks: true, commonPrefix: false }),
    );
    t.strictSame(routes.get("GET /metrics"), {
      onRequest:
        "refuseAmbiguous addHeaders refuseUnrouted refuseWhileStopping guard",
    });
  },
);
