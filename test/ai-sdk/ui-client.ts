// A client of `useChat`: the frames it reads, and what the SDK makes of them.
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai';

/** What the SDK makes of a stream, from nothing or on top of what a client has. */
export async function shown(stream: ReadableStream<UIMessageChunk>, message?: UIMessage): Promise<UIMessage> {
  let last = message;
  for await (const one of readUIMessageStream({ stream, ...(message && { message }), terminateOnError: true }))
    last = one;
  return last as UIMessage;
}

export const textIn = (message: UIMessage): string =>
  message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('');

export interface Frame {
  readonly id: string | undefined;
  readonly chunk: string;
}

export const framesIn = (body: string): readonly Frame[] =>
  body.split('\n\n').flatMap((frame): readonly Frame[] => {
    const data = /^data: (.*)$/m.exec(frame)?.[1];
    return data === undefined ? [] : [{ id: /^id: (.*)$/m.exec(frame)?.[1], chunk: data }];
  });

export const framesOf = async (stream: ReadableStream<Uint8Array>) => framesIn(await new Response(stream).text());

/** What a person reads in frames, in the order of a message. */
export async function readingOf(frames: readonly Frame[], message?: UIMessage): Promise<UIMessage> {
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const { chunk } of frames) if (chunk !== '[DONE]') controller.enqueue(JSON.parse(chunk));
      controller.close();
    },
  });
  return shown(stream, message);
}

export const picture = (message: UIMessage) => ({
  steps: message.parts.filter((part) => part.type === 'step-start').length,
  text: textIn(message),
  reasoning: message.parts.map((part) => (part.type === 'reasoning' ? part.text : '')).join(''),
  calls: message.parts.flatMap((part: any) =>
    part.type === 'tool-look' ? [[part.toolCallId, part.state, part.input, part.output]] : [],
  ),
  sources: message.parts.filter((part) => part.type === 'source-url').length,
});
