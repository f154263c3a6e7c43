/** Keeps a scrolling element at its end while text arrives, until the reader scrolls up. */
import type { Attachment } from "svelte/attachments";

/** How near to the end a downward movement attaches again. */
const NEAR = 120;

export interface Follower {
  /** Scrolls to the end and follows again. */
  attach(): void;
}

/**
 * The direction of a movement decides, not the position: text that arrives moves the end away from a reader who has not
 * moved. `onchange` is told when following begins or ends.
 */
export function follow(onchange: (isFollowing: boolean) => void, onready: (follower: Follower) => void): Attachment {
  return (node) => {
    const element = node as HTMLElement;
    let isFollowing = true;
    let lastTop = element.scrollTop;
    let lastTouch = 0;

    const set = (next: boolean) => {
      if (next === isFollowing) return;
      isFollowing = next;
      onchange(next);
    };
    const toEnd = () => {
      element.scrollTop = element.scrollHeight;
      lastTop = element.scrollTop;
    };
    const left = () => element.scrollHeight - element.clientHeight - element.scrollTop;
    const canScroll = () => element.scrollHeight > element.clientHeight;

    const onwheel = (event: WheelEvent) => {
      if (event.deltaY < 0 && canScroll()) set(false);
    };
    const onkeydown = (event: KeyboardEvent) => {
      const isTyping = (event.target as Element).closest("input, textarea, select, [contenteditable]") !== null;
      if (!isTyping && ["ArrowUp", "PageUp", "Home"].includes(event.key) && canScroll()) set(false);
    };
    const ontouchstart = (event: TouchEvent) => {
      lastTouch = event.touches[0]?.clientY ?? 0;
    };
    const ontouchmove = (event: TouchEvent) => {
      const y = event.touches[0]?.clientY ?? 0;
      if (y > lastTouch && canScroll()) set(false);
      lastTouch = y;
    };
    const onscroll = () => {
      const top = element.scrollTop;
      // Dragging the scroll bar sends no other event.
      if (top < lastTop - 1 && left() > 1) set(false);
      else if (top > lastTop && left() <= NEAR) set(true);
      lastTop = top;
    };
    const observer = new ResizeObserver(() => {
      if (isFollowing) toEnd();
    });
    observer.observe(element);
    if (element.firstElementChild) observer.observe(element.firstElementChild);

    const options = { passive: true };
    element.addEventListener("wheel", onwheel, options);
    element.addEventListener("keydown", onkeydown);
    element.addEventListener("touchstart", ontouchstart, options);
    element.addEventListener("touchmove", ontouchmove, options);
    element.addEventListener("scroll", onscroll, options);
    onready({
      attach() {
        set(true);
        toEnd();
      },
    });
    toEnd();

    return () => {
      observer.disconnect();
      element.removeEventListener("wheel", onwheel);
      element.removeEventListener("keydown", onkeydown);
      element.removeEventListener("touchstart", ontouchstart);
      element.removeEventListener("touchmove", ontouchmove);
      element.removeEventListener("scroll", onscroll);
    };
  };
}
