/**
 * Owns the few things of a browser that the page uses, by name and type. The repository is checked as code for Node,
 * and the whole of the DOM's types would then be in scope everywhere.
 * Must not know what the page shows.
 */

export interface PageElement {
  innerHTML: string;
  textContent: string | null;
  value?: string;
  readonly tagName: string;
  readonly classList: { toggle(name: string, on?: boolean): boolean };
  getAttribute(name: string): string | null;
  closest(selector: string): PageElement | null;
  querySelector(selector: string): PageElement | null;
  querySelectorAll(selector: string): Iterable<PageElement>;
  scrollIntoView(options: { block: 'nearest'; inline: 'nearest' }): void;
  focus(options: { preventScroll: boolean }): void;
}

export interface PageEvent {
  readonly target: PageElement | null;
  readonly key?: string;
  readonly ctrlKey?: boolean;
  readonly metaKey?: boolean;
  readonly altKey?: boolean;
  preventDefault(): void;
}

interface Listening {
  addEventListener(type: string, listener: (event: PageEvent) => void): void;
}

export interface Page extends Listening {
  title: string;
  readonly activeElement: PageElement | null;
  readonly body: PageElement;
  querySelector(selector: string): PageElement | null;
  querySelectorAll(selector: string): Iterable<PageElement>;
}

export interface Window extends Listening {
  readonly document: Page;
  readonly location: { hash: string };
  readonly history: { replaceState(data: null, unused: string, address: string): void };
}

/** In a browser the global object is the window. */
export const browser = globalThis as unknown as Window;
