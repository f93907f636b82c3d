// A link with the token behind its # signs a board in without a keyboard; what follows # is never sent.
"use strict";
const token = window.location.hash.slice(1);
if (token) {
  window.history.replaceState(null, "", window.location.pathname);
  document.getElementById("token").value = token;
  document.getElementById("enter").submit();
}
