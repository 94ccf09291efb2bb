/**
 * Owns lines of text with icons, numbers and badges: their pieces, where each begins and how wide it is.
 * Must not know what the lines say, nor colours.
 */
import { textWidth, type Weight } from './text-width.js';

/** Which kind of transition a piece belongs to; the drawing gives each its colour. */
export type Tone = 'event' | 'time' | 'always' | 'done' | 'error';
export type TextRole = 'title' | 'body' | 'strong' | 'muted' | 'note' | 'effect';
export type Badge = 'forced' | 'debounced' | 'idle' | 'tag';

export type Piece =
  | { readonly kind: 'text'; readonly text: string; readonly role: TextRole; readonly tone?: Tone }
  | { readonly kind: 'number'; readonly n: number; readonly tone: Tone }
  | { readonly kind: 'clock' }
  | { readonly kind: 'badge'; readonly text: string; readonly look: Badge };

export interface PlacedPiece {
  readonly piece: Piece;
  readonly x: number;
  readonly width: number;
}

export interface Row {
  readonly pieces: readonly PlacedPiece[];
  readonly width: number;
  readonly height: number;
}

export const FONT: Readonly<Record<TextRole, { readonly size: number; readonly weight: Weight }>> = {
  title: { size: 13, weight: 'bold' },
  body: { size: 11, weight: 'regular' },
  strong: { size: 11, weight: 'bold' },
  muted: { size: 10, weight: 'regular' },
  note: { size: 10, weight: 'regular' },
  effect: { size: 11, weight: 'regular' },
};
export const BADGE_SIZE = 9;
export const BADGE_HEIGHT = 14;
/** Left of a badge's text: room for the disk of a directive. */
export const DISK_ROOM = 11;
const BADGE_PADDING = 6;
export const NUMBER_SIZE = 14;
export const CLOCK_SIZE = 12;
const GAP = 5;

export const isDirective = (look: Badge): boolean => look === 'forced' || look === 'debounced';

function pieceWidth(piece: Piece): number {
  switch (piece.kind) {
    case 'text': {
      const font = FONT[piece.role];
      return textWidth(piece.text, font.size, font.weight);
    }
    case 'number':
      return piece.n > 9 ? NUMBER_SIZE + 5 : NUMBER_SIZE;
    case 'clock':
      return CLOCK_SIZE;
    case 'badge':
      return textWidth(piece.text, BADGE_SIZE, 'bold') + 2 * BADGE_PADDING + (isDirective(piece.look) ? DISK_ROOM : 0);
  }
}

export function rowOf(pieces: readonly Piece[], height: number): Row {
  const placed: PlacedPiece[] = [];
  let x = 0;
  for (const piece of pieces) {
    if (placed.length > 0) x += GAP;
    const width = pieceWidth(piece);
    placed.push({ piece, x, width });
    x += width;
  }
  return { pieces: placed, width: x, height };
}

export const blockWidth = (rows: readonly Row[]): number => Math.max(0, ...rows.map((row) => row.width));
export const blockHeight = (rows: readonly Row[]): number => rows.reduce((sum, row) => sum + row.height, 0);
