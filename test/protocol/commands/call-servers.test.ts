import t from "tap";
import { foyer, startFoyer, until } from "../../support/helper.js";
import { freePort } from "../../support/servers/port.js";
import { noLiveKit, startLiveKit } from "../../support/servers/livekit.js";
import { startBigBlueButton, startJitsi } from "../../support/servers/meetings.js";
import { testdir } from "../../support/testdir.js";

// `foyer check`, startup and metrics with call servers.

void t.test("foyer check asks each server for calls", { skip: noLiveKit }, async (t) => {
  const dataDir = testdir(t);
  await foyer(dataDir, ["world", "create", "fair", "--title", "Fair", "--domain", "a.example.org"]);
  const livekit = await startLiveKit(t);
  const bigbluebutton = await startBigBlueButton(t);
  const jitsi = await startJitsi(t);
  const env = { ...livekit.variables, ...bigbluebutton.variables, ...jitsi.variables };
  t.match(await foyer(dataDir, ["check"], env), {
    code: 0,
    stdout: /1 world, 0 rooms, 0 files\.\n$/,
  });

  bigbluebutton.state.fault = { headers: { date: new Date(Date.now() - 6e5).toUTCString() } };
  jitsi.state.fault = { status: 503 };
  const wrong = { ...env, LIVEKIT_API_SECRET: "not-the-secret-".repeat(4) };
  const { code, stdout, stderr } = await foyer(dataDir, ["check"], wrong);
  t.equal(code, 1);
  t.equal(stderr, "foyer: There are 3 findings.\n");
  const lines = stdout.trimEnd().split("\n");
  t.match(lines, [
    `LiveKit refuses LIVEKIT_API_KEY or LIVEKIT_API_SECRET (${livekit.apiUrl})`,
    /^BigBlueButton has a clock that is \d+ seconds behind this machine's \(http:.+\)$/,
    `Jitsi answers with the status 503 (${jitsi.url})`,
  ]);
  t.equal(lines.length, 3);
  for (const secret of [wrong.LIVEKIT_API_SECRET, bigbluebutton.secret, jitsi.secret]) {
    t.notMatch(stdout + stderr, secret);
  }

  await livekit.stop();
  const { findings } = JSON.parse((await foyer(dataDir, ["check", "--json"], env)).stdout) as {
    findings: object[];
  };
  t.match(findings[0], {
    subject: "LiveKit",
    problem: `does not listen at its address (${livekit.apiUrl})`,
  });
});

void t.test("servers for calls that are down do not keep Foyer from starting", async (t) => {
  const port = await freePort();
  const secret = "never-to-be-logged-".repeat(3);
  const server = await startFoyer(t, testdir(t), [], {
    LOG_LEVEL: "trace",
    METRICS_TOKEN: "a-token-for-metrics",
    LIVEKIT_URL: `ws://127.0.0.1:${port}`,
    LIVEKIT_API_KEY: "foyer",
    LIVEKIT_API_SECRET: secret,
    BBB_URL: `http://127.0.0.1:${port}/bigbluebutton/`,
    BBB_SECRET: secret,
    JITSI_URL: `http://127.0.0.1:${port}/`,
    JITSI_APP_ID: "foyer",
    JITSI_APP_SECRET: secret,
  });
  t.equal((await fetch(`${server.address}/readyz`)).status, 200);
  const headers = { authorization: "Bearer a-token-for-metrics" };
  const metrics = await (await fetch(`${server.address}/metrics`, { headers })).text();
  t.match(metrics, "# TYPE foyer_call_engine_request_duration_seconds histogram");
  server.signal("SIGTERM");
  t.equal((await server.finished).code, 0);
  await until(() => server.said.stdout.includes("calls over LiveKit"));
  t.notMatch(server.said.stdout + server.said.stderr, secret);
});
