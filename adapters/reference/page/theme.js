<<<<<<< HEAD
// Runs before the first rendering: follows the dark or light setting of the reader's system, and its changes.
=======
// Runs before the first rendering: sets dark or light as the reader's system does, and follows its changes.
>>>>>>> main
const dark = matchMedia('(prefers-color-scheme: dark)');
const apply = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', apply);
apply();
