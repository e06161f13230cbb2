// What the mind writes may look like an address, and the terminal's page makes links of such: they lead nowhere from here.
window.open = () => null;
