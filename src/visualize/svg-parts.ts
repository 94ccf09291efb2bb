/**
 * Owns the marks of a picture: texts, badges, numbers, clocks, lines with round corners and arrow heads, as SVG.
 * Must not know states or transitions.
 */
import type { Box, Point } from './layout.js';
import {
  BADGE_HEIGHT,
  BADGE_SIZE,
  CLOCK_SIZE,
  DISK_ROOM,
  FONT,
  isDirective,
  NUMBER_SIZE,
  type PlacedPiece,
  type Row,
} from './rows.js';
import { textWidth } from './text-width.js';

const CORNER = 6;
const ARROW_LENGTH = 7;
const ARROW_HALF_WIDTH = 3.6;
/** From the middle of a line of text to its base line, as a share of the font size. */
const BASE_LINE = 0.35;

export const round = (n: number): string => `${Math.round(n * 10) / 10}`;

export function escapeXml(text: string): string {
  return (
    text
      // Control characters are not allowed in XML, not even escaped.
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;')
  );
}

export const tooltip = (text: string): string => `<title>${escapeXml(text)}</title>`;

export function inset(box: Box, by: number): Box {
  return { x: box.x + by, y: box.y + by, width: box.width - 2 * by, height: box.height - 2 * by };
}

export function rect(box: Box, className: string, radius: number): string {
  const { x, y, width, height } = box;
  return `<rect class="${className}" x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="${radius}"/>`;
}

/** `textLength` holds every font to the measured width. */
function textAt(x: number, middle: number, text: string, className: string, size: number, width: number): string {
  const fit = width > 0 ? ` textLength="${round(width)}" lengthAdjust="spacingAndGlyphs"` : '';
  return `<text class="${className}" x="${round(x)}" y="${round(middle + size * BASE_LINE)}"${fit}>${escapeXml(text)}</text>`;
}

function clock(x: number, middle: number): string {
  const r = CLOCK_SIZE / 2 - 0.8;
  const cx = x + CLOCK_SIZE / 2;
  const hands = `M${round(cx)} ${round(middle - r * 0.6)}V${round(middle)}H${round(cx + r * 0.55)}`;
  return `<circle class="clock" cx="${round(cx)}" cy="${round(middle)}" r="${round(r)}"/><path class="clock" d="${hands}"/>`;
}

/** A disk: what a checkpoint is written to. */
function disk(x: number, middle: number, look: string): string {
  const [left, top, w, h] = [x, middle - 3.6, 7, 7.2];
  const arc = (y: number, sweep: 0 | 1) => `A${w / 2} 1.6 0 0 ${sweep} ${round(left + w)} ${round(y)}`;
  const body = `M${round(left)} ${round(top + 1.4)}V${round(top + h - 1.4)}${arc(top + h - 1.4, 0)}V${round(top + 1.4)}`;
  const lid = `M${round(left)} ${round(top + 1.4)}${arc(top + 1.4, 1)}M${round(left)} ${round(top + 1.4)}${arc(top + 1.4, 0)}`;
  return `<path class="disk ${look}" d="${body}${lid}"/>`;
}

function piece({ piece: p, x, width }: PlacedPiece, left: number, middle: number): string {
  const at = left + x;
  switch (p.kind) {
    case 'text':
      return textAt(
        at,
        middle,
        p.text,
        p.tone === undefined ? p.role : `${p.role} ${p.tone}`,
        FONT[p.role].size,
        width,
      );
    case 'clock':
      return clock(at, middle);
    case 'number': {
      const box = { x: at, y: middle - NUMBER_SIZE / 2, width, height: NUMBER_SIZE };
      const digits = `<text class="digit" x="${round(at + width / 2)}" y="${round(middle + 9 * BASE_LINE)}">${p.n}</text>`;
      return rect(box, `number ${p.tone}`, NUMBER_SIZE / 2) + digits;
    }
    case 'badge': {
      const box = { x: at, y: middle - BADGE_HEIGHT / 2, width, height: BADGE_HEIGHT };
      const words = textWidth(p.text, BADGE_SIZE, 'bold');
      const room = isDirective(p.look) ? DISK_ROOM : 0;
      const inner = (width - words - room) / 2;
      const icon = room === 0 ? '' : disk(at + inner, middle, p.look);
      return (
        rect(box, `badge ${p.look}`, BADGE_HEIGHT / 2) +
        icon +
        textAt(at + inner + room, middle, p.text, `onBadge ${p.look}`, BADGE_SIZE, words)
      );
    }
  }
}

export function drawRow(row: Row, x: number, y: number): string {
  return row.pieces.map((placed) => piece(placed, x, y + row.height / 2)).join('');
}

export function drawRows(rows: readonly Row[], x: number, y: number): string {
  let top = y;
  return rows
    .map((row) => {
      const drawn = drawRow(row, x, top);
      top += row.height;
      return drawn;
    })
    .join('');
}

/** Moves from `from` towards `to`. */
function towards(from: Point, to: Point, distance: number): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const share = Math.min(1, distance / length);
  return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
}

export function roundedPath(points: readonly Point[]): string {
  const at = (p: Point) => `${round(p.x)} ${round(p.y)}`;
  const parts: string[] = [];
  points.forEach((point, k) => {
    const before = points[k - 1];
    const after = points[k + 1];
    if (before === undefined) parts.push(`M${at(point)}`);
    else if (after === undefined) parts.push(`L${at(point)}`);
    else {
      const room = Math.min(
        Math.hypot(point.x - before.x, point.y - before.y),
        Math.hypot(after.x - point.x, after.y - point.y),
      );
      const radius = Math.min(CORNER, room / 2);
      parts.push(`L${at(towards(point, before, radius))}Q${at(point)} ${at(towards(point, after, radius))}`);
    }
  });
  return `<path d="${parts.join('')}"/>`;
}

export function arrowHead(from: Point, tip: Point): string {
  const base = towards(tip, from, ARROW_LENGTH);
  const length = Math.hypot(tip.x - base.x, tip.y - base.y) || 1;
  const side = {
    x: (-(tip.y - base.y) / length) * ARROW_HALF_WIDTH,
    y: ((tip.x - base.x) / length) * ARROW_HALF_WIDTH,
  };
  const corners = [tip, { x: base.x + side.x, y: base.y + side.y }, { x: base.x - side.x, y: base.y - side.y }];
  return `<polygon points="${corners.map((p) => `${round(p.x)},${round(p.y)}`).join(' ')}"/>`;
}
