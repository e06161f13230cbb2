// What the mind writes may look like an address, and the terminal's page makes links of such: they lead nowhere from here.
window.open = () => null;

// What stands behind the # was sent to nobody. It is kept where no other port's page may look, and not in the address;
// nor is the token.
if (location.hash.length > 1) {
  sessionStorage.setItem("key", location.hash.slice(1));
}
history.replaceState(null, "", "/");
document.addEventListener("DOMContentLoaded", () => {
  const key = sessionStorage.getItem("key");
  document.body.classList.toggle("keyless", !key);
  document.querySelector("#terminal").dataset.sessionWebsocketUrl += key;
});
