/**
 * Owns how the page to step through the charts is put together: one bundle of the real charts and the real step, the
 * pictures and the style, in one file that opens from disk and asks no network for anything.
 * Must not know what the page does. It needs vite, which only this repository has; nothing of it is published.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const here = dirname(fileURLToPath(import.meta.url));

async function bundle() {
  const result = await build({
    configFile: false,
    envFile: false,
    logLevel: 'error',
    root: join(here, 'stepper'),
    // Said outright: what a test runner sets in the environment must not choose another build of XState.
    mode: 'production',
    resolve: { conditions: ['module', 'browser'] },
    define: { 'process.env.NODE_ENV': '"production"' },
    build: {
      write: false,
      target: 'es2022',
      minify: true,
      lib: { entry: join(here, 'stepper', 'main.ts'), formats: ['iife'], name: 'stepper' },
    },
  });
  const [{ output }] = [result].flat();
  return output[0].code;
}

/** An HTML parser ends a script at the first closing tag, wherever it stands. */
const inScript = (code) => code.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--').trim();

/** @param {ReadonlyMap<string, string>} files the generated files, the pictures among them */
export async function stepperPage(files) {
  const style = readFileSync(join(here, 'stepper', 'style.css'), 'utf8').trim();
  const pictures = ['turn', 'recovery', 'call'].map((name) => {
    const svg = files.get(`${name}.svg`);
    if (svg === undefined) throw new Error(`there is no picture of ${name}`);
    return `<div id="chart-${name}">${svg.trim()}</div>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<title>durable-turn: step through the charts</title>
<style>
${style}
</style>
</head>
<body>
<div id="head"></div>
<main>
<div id="charts" tabindex="0" aria-label="The chart">
${pictures.join('\n')}
</div>
<div id="panel" tabindex="-1"></div>
</main>
<script>
${inScript(await bundle())}
</script>
</body>
</html>
`;
}
