/**
 * Owns how wide a text is, without a browser: the glyph widths of Helvetica, which Arial and Liberation Sans share.
 * Must not know what is drawn. The drawing sets every text to exactly this width, so that another font cannot make
 * it leave its box.
 */

/** Thousandths of the font size, for the characters from U+0020 to U+007E. */
const REGULAR =
  '278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 ' +
  '556 556 556 556 556 556 556 556 556 556 278 278 584 584 584 556 ' +
  '1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 ' +
  '667 778 722 667 611 722 667 944 667 667 611 278 278 278 469 556 ' +
  '333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 ' +
  '556 556 333 500 278 556 500 722 500 500 500 334 260 334 584';
const BOLD =
  '278 333 474 556 556 889 722 238 333 333 389 584 278 333 278 278 ' +
  '556 556 556 556 556 556 556 556 556 556 333 333 584 584 584 611 ' +
  '975 722 722 722 722 667 611 778 722 278 556 722 611 833 722 778 ' +
  '667 778 722 667 611 722 667 944 667 667 611 333 278 333 584 556 ' +
  '333 556 611 556 611 556 333 611 611 278 278 556 278 889 611 611 ' +
  '611 611 389 556 333 611 556 778 556 556 500 389 280 389 584';

const widthsOf = (table: string): readonly number[] => table.split(' ').map(Number);
const WIDTHS = { regular: widthsOf(REGULAR), bold: widthsOf(BOLD) };

const FIRST = 0x20;
/** Signs this project draws that are narrower than the guess for their block. */
const SIGNS: Readonly<Record<string, number>> = {
  ƒ: 556,
  '·': 278,
  '×': 584,
  '≤': 549,
  '…': 1000,
  '→': 1000,
  '–': 556,
};
const LATIN = 667;
const WIDE = 1000;
const LAST_LATIN = 0x24f;

export type Weight = keyof typeof WIDTHS;

export function textWidth(text: string, size: number, weight: Weight = 'regular'): number {
  let sum = 0;
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    sum += WIDTHS[weight][code - FIRST] ?? SIGNS[char] ?? (code <= LAST_LATIN ? LATIN : WIDE);
  }
  return (sum * size) / 1000;
}
