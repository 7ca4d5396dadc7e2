import { analyse } from "scslre";

/** The project's own lint rules. .oxlintrc.jsonc defines where they apply. */
export default {
  meta: { name: "foyer" },
  rules: {
    clock: { create: refuseDate },
    linear: { create: refuseSlowExpressions },
    "class-key": { create: refuseKeyOfClass },
  },
};

/** Forbids `new Date()` and `Date()`, which read the clock of the process. */
function refuseDate(context) {
  const check = (node) => {
    const { callee, arguments: given, type } = node;
    if (callee.type !== "Identifier" || callee.name !== "Date") return;
    if (type === "NewExpression" && given.length > 0) return;
    context.report({ node, message: "Use the clock of the live layer." });
  };
  return { NewExpression: check, CallExpression: check };
}

/** Forbids regular expressions that take more than linear time for some input. */
function refuseSlowExpressions(context) {
  const check = (node, source, flags) => {
    const { reports } = analyse(new RegExp(source, flags), {
      // With `y`, an expression is tried at a single position.
      reportTypes: { Move: !flags.includes("y") },
      // An expression that is passed to other code may become part of a longer one.
      assumeRejectingSuffix: !isUsedHere(node, context),
    });
    for (const { character, exponential } of reports) {
      const text = `/${character.literal.source}+/`;
      const time = exponential ? "exponential" : "quadratic";
      context.report({
        node,
        message: `A long text of ${text} takes ${time} time.`,
      });
    }
  };
  const checkCall = (node) => {
    const { callee, arguments: given } = node;
    if (callee.type !== "Identifier" || callee.name !== "RegExp") return;
    const [source, flags = ""] = given.map(({ value }) => value);
    if (typeof source === "string") check(node, source, flags);
  };
  return {
    Literal(node) {
      if (node.regex) check(node, node.regex.pattern, node.regex.flags);
    },
    NewExpression: checkCall,
    CallExpression: checkCall,
  };
}

/** Whether an expression, or every use of the variable that holds it, is part of a call. */
function isUsedHere(node, { sourceCode }) {
  const { parent } = node;
  if (parent.type === "MemberExpression") return parent.object === node;
  if (parent.type === "CallExpression") return true;
  if (parent.type !== "VariableDeclarator") return false;
  if (parent.parent.parent.type === "ExportNamedDeclaration") return false;
  return sourceCode
    .getDeclaredVariables(parent)
    .every(({ references }) =>
      references.every(({ init, identifier }) => init || isUsedHere(identifier, { sourceCode })),
    );
}

/**
 * Forbids a key with the name of the class inside its private members, because TypeScript 7.0
 * compiles such a key to another name.
 */
function refuseKeyOfClass(context) {
  const check = (node) => {
    const { key, computed, shorthand } = node;
    if (key.type !== "Identifier" || computed || shorthand) return;
    for (let { parent } = node; parent; parent = parent.parent) {
      const isPrivate = parent.key?.type === "PrivateIdentifier";
      if (!isPrivate || parent.parent.parent.id?.name !== key.name) continue;
      context.report({
        node,
        message: `The compiler takes ${key.name} for the class: rename the class.`,
      });
    }
  };
  return { Property: check, MethodDefinition: check, PropertyDefinition: check };
}
