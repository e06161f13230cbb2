// The terminal widget turns text that looks like an address into links; model output must not open anything.
window.open = () => null;

// The key in the fragment (after #) was never sent. Keep it in sessionStorage, which other ports cannot read, and remove
// it and the token from the address.
if (location.hash.length > 1) {
  sessionStorage.setItem("key", location.hash.slice(1));
}
history.replaceState(null, "", "/");
document.addEventListener("DOMContentLoaded", () => {
  const key = sessionStorage.getItem("key");
  document.body.classList.toggle("keyless", !key);
  document.querySelector("#terminal").dataset.sessionWebsocketUrl += key;
  new MutationObserver((_changes, observer) => {
    const keyboard = document.querySelector(".xterm-helper-textarea");
    if (keyboard && document.body.classList.contains("-first-byte")) {
      keyboard.focus();  // One can type at once, without a click.
      observer.disconnect();
    }
  }).observe(document.body, { attributes: true, attributeFilter: ["class"] });
});
