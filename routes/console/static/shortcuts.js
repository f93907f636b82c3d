// Focuses the search field of a list with the key "/".
"use strict";
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea")) return;
  const search = document.querySelector('input[type="search"]');
  if (!search) return;
  event.preventDefault();
  search.focus();
  search.select();
});
