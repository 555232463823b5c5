#include "ui/formula/names.h"

#include <stdlib.h>
#include <string.h>

/* In the order of strcmp(). */
/* clang-format off */
static const struct formula_name names[] = {
    {" ", FORMULA_SPACE, " "}, {"!", FORMULA_SPACE, ""}, {"#", FORMULA_LETTER, "#"}, {"$", FORMULA_LETTER, "$"},
    {"%", FORMULA_LETTER, "%"}, {"&", FORMULA_LETTER, "&"}, {",", FORMULA_SPACE, ""}, {"/", FORMULA_SPACE, ""},
    {":", FORMULA_SPACE, " "}, {";", FORMULA_SPACE, " "}, {">", FORMULA_SPACE, " "}, {"AA", FORMULA_LETTER, "\u00C5"},
    {"AE", FORMULA_LETTER, "\u00C6"}, {"Bbb", FORMULA_FONT, "b"}, {"Big", FORMULA_SIZE, ""},
    {"Bigg", FORMULA_SIZE, ""}, {"Biggl", FORMULA_SIZE, ""}, {"Biggr", FORMULA_SIZE, ""}, {"Bigl", FORMULA_SIZE, ""},
    {"Bigm", FORMULA_SIZE, ""}, {"Bigr", FORMULA_SIZE, ""}, {"Box", FORMULA_LETTER, "\u25A1"},
    {"Delta", FORMULA_LETTER, "\u0394"}, {"Diamond", FORMULA_LETTER, "\u25C7"},
    {"Downarrow", FORMULA_RELATION, "\u21D3"}, {"Gamma", FORMULA_LETTER, "\u0393"}, {"Im", FORMULA_LETTER, "\u2111"},
    {"Lambda", FORMULA_LETTER, "\u039B"}, {"Leftarrow", FORMULA_RELATION, "\u21D0"},
    {"Leftrightarrow", FORMULA_RELATION, "\u21D4"}, {"Longleftarrow", FORMULA_RELATION, "\u27F8"},
    {"Longleftrightarrow", FORMULA_RELATION, "\u27FA"}, {"Longrightarrow", FORMULA_RELATION, "\u27F9"},
    {"O", FORMULA_LETTER, "\u00D8"}, {"OE", FORMULA_LETTER, "\u0152"}, {"Omega", FORMULA_LETTER, "\u03A9"},
    {"P", FORMULA_LETTER, "\u00B6"}, {"Phi", FORMULA_LETTER, "\u03A6"}, {"Pi", FORMULA_LETTER, "\u03A0"},
    {"Pr", FORMULA_WORD, "Pr"}, {"Psi", FORMULA_LETTER, "\u03A8"}, {"Re", FORMULA_LETTER, "\u211C"},
    {"Rightarrow", FORMULA_RELATION, "\u21D2"}, {"S", FORMULA_LETTER, "\u00A7"}, {"Sigma", FORMULA_LETTER, "\u03A3"},
    {"Theta", FORMULA_LETTER, "\u0398"}, {"Uparrow", FORMULA_RELATION, "\u21D1"},
    {"Upsilon", FORMULA_LETTER, "\u03A5"}, {"Vdash", FORMULA_RELATION, "\u22A9"}, {"Vert", FORMULA_LETTER, "\u2016"},
    {"Xi", FORMULA_LETTER, "\u039E"}, {"_", FORMULA_LETTER, "_"}, {"aa", FORMULA_LETTER, "\u00E5"},
    {"acute", FORMULA_ACCENT, "\u0301"}, {"ae", FORMULA_LETTER, "\u00E6"}, {"aleph", FORMULA_LETTER, "\u2135"},
    {"allowbreak", FORMULA_SIZE, ""}, {"alpha", FORMULA_LETTER, "\u03B1"}, {"amalg", FORMULA_RELATION, "\u2A3F"},
    {"angle", FORMULA_LETTER, "\u2220"}, {"approx", FORMULA_RELATION, "\u2248"},
    {"approxeq", FORMULA_RELATION, "\u224A"}, {"arccos", FORMULA_WORD, "arccos"}, {"arcsin", FORMULA_WORD, "arcsin"},
    {"arctan", FORMULA_WORD, "arctan"}, {"arg", FORMULA_WORD, "arg"}, {"argmax", FORMULA_WORD, "arg max"},
    {"argmin", FORMULA_WORD, "arg min"}, {"ast", FORMULA_RELATION, "\u2217"}, {"asymp", FORMULA_RELATION, "\u224D"},
    {"backprime", FORMULA_LETTER, "\u2035"}, {"backslash", FORMULA_LETTER, "\\"}, {"bar", FORMULA_ACCENT, "\u0304"},
    {"because", FORMULA_RELATION, "\u2235"}, {"begin", FORMULA_BEGIN, ""}, {"beta", FORMULA_LETTER, "\u03B2"},
    {"beth", FORMULA_LETTER, "\u2136"}, {"between", FORMULA_RELATION, "\u226C"}, {"big", FORMULA_SIZE, ""},
    {"bigcap", FORMULA_LARGE, "\u22C2"}, {"bigcup", FORMULA_LARGE, "\u22C3"}, {"bigg", FORMULA_SIZE, ""},
    {"biggl", FORMULA_SIZE, ""}, {"biggr", FORMULA_SIZE, ""}, {"bigl", FORMULA_SIZE, ""}, {"bigm", FORMULA_SIZE, ""},
    {"bigodot", FORMULA_LARGE, "\u2A00"}, {"bigoplus", FORMULA_LARGE, "\u2A01"},
    {"bigotimes", FORMULA_LARGE, "\u2A02"}, {"bigr", FORMULA_SIZE, ""}, {"bigsqcup", FORMULA_LARGE, "\u2A06"},
    {"bigstar", FORMULA_LETTER, "\u2605"}, {"biguplus", FORMULA_LARGE, "\u2A04"}, {"bigvee", FORMULA_LARGE, "\u22C1"},
    {"bigwedge", FORMULA_LARGE, "\u22C0"}, {"binom", FORMULA_BINOMIAL, ""}, {"blacksquare", FORMULA_LETTER, "\u25A0"},
    {"bm", FORMULA_FONT, ""}, {"bmod", FORMULA_RELATION, "mod"}, {"boldsymbol", FORMULA_FONT, ""},
    {"bot", FORMULA_LETTER, "\u22A5"}, {"bowtie", FORMULA_RELATION, "\u22C8"}, {"boxed", FORMULA_BOX, ""},
    {"breve", FORMULA_ACCENT, "\u0306"}, {"bullet", FORMULA_LETTER, "\u2022"}, {"cap", FORMULA_RELATION, "\u2229"},
    {"cdot", FORMULA_RELATION, "\u00B7"}, {"cdots", FORMULA_LETTER, "\u22EF"}, {"cfrac", FORMULA_FRACTION, ""},
    {"check", FORMULA_ACCENT, "\u030C"}, {"checkmark", FORMULA_LETTER, "\u2713"}, {"chi", FORMULA_LETTER, "\u03C7"},
    {"circ", FORMULA_RELATION, "\u2218"}, {"circledR", FORMULA_LETTER, "\u00AE"},
    {"clubsuit", FORMULA_LETTER, "\u2663"}, {"colon", FORMULA_LETTER, ":"}, {"coloneqq", FORMULA_RELATION, "\u2254"},
    {"complement", FORMULA_LETTER, "\u2201"}, {"cong", FORMULA_RELATION, "\u2245"},
    {"coprod", FORMULA_LARGE, "\u2210"}, {"copyright", FORMULA_LETTER, "\u00A9"}, {"cos", FORMULA_WORD, "cos"},
    {"cosh", FORMULA_WORD, "cosh"}, {"cot", FORMULA_WORD, "cot"}, {"coth", FORMULA_WORD, "coth"},
    {"csc", FORMULA_WORD, "csc"}, {"cup", FORMULA_RELATION, "\u222A"}, {"dagger", FORMULA_LETTER, "\u2020"},
    {"dashv", FORMULA_RELATION, "\u22A3"}, {"dbinom", FORMULA_BINOMIAL, ""}, {"ddagger", FORMULA_LETTER, "\u2021"},
    {"ddot", FORMULA_ACCENT, "\u0308"}, {"ddots", FORMULA_LETTER, "\u22F1"}, {"deg", FORMULA_WORD, "deg"},
    {"degree", FORMULA_LETTER, "\u00B0"}, {"delta", FORMULA_LETTER, "\u03B4"}, {"det", FORMULA_WORD, "det"},
    {"dfrac", FORMULA_FRACTION, ""}, {"diamond", FORMULA_LETTER, "\u22C4"}, {"diamondsuit", FORMULA_LETTER, "\u2662"},
    {"digamma", FORMULA_LETTER, "\u03DD"}, {"dim", FORMULA_WORD, "dim"}, {"displaystyle", FORMULA_SIZE, ""},
    {"div", FORMULA_RELATION, "\u00F7"}, {"dot", FORMULA_ACCENT, "\u0307"}, {"doteq", FORMULA_RELATION, "\u2250"},
    {"dots", FORMULA_LETTER, "\u2026"}, {"dotsb", FORMULA_LETTER, "\u2026"}, {"dotsc", FORMULA_LETTER, "\u2026"},
    {"downarrow", FORMULA_RELATION, "\u2193"}, {"ell", FORMULA_LETTER, "\u2113"},
    {"emptyset", FORMULA_LETTER, "\u2205"}, {"end", FORMULA_END, ""}, {"enspace", FORMULA_SPACE, " "},
    {"epsilon", FORMULA_LETTER, "\u03F5"}, {"equiv", FORMULA_RELATION, "\u2261"}, {"eta", FORMULA_LETTER, "\u03B7"},
    {"eth", FORMULA_LETTER, "\u00F0"}, {"euro", FORMULA_LETTER, "\u20AC"}, {"exists", FORMULA_LETTER, "\u2203"},
    {"exp", FORMULA_WORD, "exp"}, {"fbox", FORMULA_BOX, ""}, {"flat", FORMULA_LETTER, "\u266D"},
    {"forall", FORMULA_LETTER, "\u2200"}, {"frac", FORMULA_FRACTION, ""}, {"gamma", FORMULA_LETTER, "\u03B3"},
    {"gcd", FORMULA_WORD, "gcd"}, {"ge", FORMULA_RELATION, "\u2265"}, {"geq", FORMULA_RELATION, "\u2265"},
    {"geqslant", FORMULA_RELATION, "\u2A7E"}, {"gets", FORMULA_RELATION, "\u2190"},
    {"gg", FORMULA_RELATION, "\u226B"}, {"ggg", FORMULA_RELATION, "\u22D9"}, {"grave", FORMULA_ACCENT, "\u0300"},
    {"gtrsim", FORMULA_RELATION, "\u2273"}, {"hat", FORMULA_ACCENT, "\u0302"}, {"hbar", FORMULA_LETTER, "\u210F"},
    {"hbox", FORMULA_TEXT, ""}, {"heartsuit", FORMULA_LETTER, "\u2661"}, {"hline", FORMULA_SIZE, ""},
    {"hom", FORMULA_WORD, "hom"}, {"hookleftarrow", FORMULA_RELATION, "\u21A9"},
    {"hookrightarrow", FORMULA_RELATION, "\u21AA"}, {"hslash", FORMULA_LETTER, "\u210F"},
    {"iff", FORMULA_RELATION, "\u27FA"}, {"iiint", FORMULA_LARGE, "\u222D"}, {"iint", FORMULA_LARGE, "\u222C"},
    {"imath", FORMULA_LETTER, "\u0131"}, {"impliedby", FORMULA_RELATION, "\u27F8"},
    {"implies", FORMULA_RELATION, "\u27F9"}, {"in", FORMULA_RELATION, "\u2208"}, {"inf", FORMULA_WORD, "inf"},
    {"infty", FORMULA_LETTER, "\u221E"}, {"int", FORMULA_LARGE, "\u222B"}, {"iota", FORMULA_LETTER, "\u03B9"},
    {"jmath", FORMULA_LETTER, "\u0237"}, {"kappa", FORMULA_LETTER, "\u03BA"}, {"ker", FORMULA_WORD, "ker"},
    {"lVert", FORMULA_LETTER, "\u2016"}, {"label", FORMULA_LABEL, ""}, {"lambda", FORMULA_LETTER, "\u03BB"},
    {"land", FORMULA_RELATION, "\u2227"}, {"langle", FORMULA_LETTER, "\u27E8"}, {"lbrace", FORMULA_LETTER, "{"},
    {"lbrack", FORMULA_LETTER, "["}, {"lceil", FORMULA_LETTER, "\u2308"}, {"lcm", FORMULA_WORD, "lcm"},
    {"ldots", FORMULA_LETTER, "\u2026"}, {"le", FORMULA_RELATION, "\u2264"}, {"leadsto", FORMULA_RELATION, "\u21DD"},
    {"left", FORMULA_LEFT, ""}, {"leftarrow", FORMULA_RELATION, "\u2190"},
    {"leftharpoonup", FORMULA_RELATION, "\u21BC"}, {"leftrightarrow", FORMULA_RELATION, "\u2194"},
    {"leq", FORMULA_RELATION, "\u2264"}, {"leqslant", FORMULA_RELATION, "\u2A7D"},
    {"lesssim", FORMULA_RELATION, "\u2272"}, {"lfloor", FORMULA_LETTER, "\u230A"}, {"lg", FORMULA_WORD, "lg"},
    {"lim", FORMULA_WORD, "lim"}, {"liminf", FORMULA_WORD, "lim inf"}, {"limits", FORMULA_SIZE, ""},
    {"limsup", FORMULA_WORD, "lim sup"}, {"ll", FORMULA_RELATION, "\u226A"}, {"lll", FORMULA_RELATION, "\u22D8"},
    {"ln", FORMULA_WORD, "ln"}, {"lnot", FORMULA_LETTER, "\u00AC"}, {"log", FORMULA_WORD, "log"},
    {"longleftarrow", FORMULA_RELATION, "\u27F5"}, {"longleftrightarrow", FORMULA_RELATION, "\u27F7"},
    {"longmapsto", FORMULA_RELATION, "\u27FC"}, {"longrightarrow", FORMULA_RELATION, "\u27F6"},
    {"lor", FORMULA_RELATION, "\u2228"}, {"lozenge", FORMULA_LETTER, "\u25CA"},
    {"ltimes", FORMULA_RELATION, "\u22C9"}, {"lvert", FORMULA_LETTER, "|"}, {"mapsto", FORMULA_RELATION, "\u21A6"},
    {"mathbb", FORMULA_FONT, "b"}, {"mathbf", FORMULA_FONT, ""}, {"mathbin", FORMULA_SIZE, ""},
    {"mathcal", FORMULA_FONT, "c"}, {"mathfrak", FORMULA_FONT, "f"}, {"mathit", FORMULA_FONT, ""},
    {"mathop", FORMULA_SIZE, ""}, {"mathord", FORMULA_SIZE, ""}, {"mathrel", FORMULA_SIZE, ""},
    {"mathring", FORMULA_ACCENT, "\u030A"}, {"mathrm", FORMULA_TEXT, ""}, {"mathscr", FORMULA_FONT, "c"},
    {"mathsf", FORMULA_TEXT, ""}, {"mathstrut", FORMULA_SIZE, ""}, {"mathtt", FORMULA_TEXT, ""},
    {"max", FORMULA_WORD, "max"}, {"mbox", FORMULA_TEXT, ""}, {"measuredangle", FORMULA_LETTER, "\u2221"},
    {"mho", FORMULA_LETTER, "\u2127"}, {"mid", FORMULA_RELATION, "|"}, {"middle", FORMULA_SIZE, ""},
    {"min", FORMULA_WORD, "min"}, {"models", FORMULA_RELATION, "\u22A8"}, {"mp", FORMULA_RELATION, "\u2213"},
    {"mu", FORMULA_LETTER, "\u03BC"}, {"nabla", FORMULA_LETTER, "\u2207"}, {"natural", FORMULA_LETTER, "\u266E"},
    {"ne", FORMULA_RELATION, "\u2260"}, {"nearrow", FORMULA_RELATION, "\u2197"}, {"neg", FORMULA_LETTER, "\u00AC"},
    {"neq", FORMULA_RELATION, "\u2260"}, {"nexists", FORMULA_LETTER, "\u2204"}, {"ngeq", FORMULA_RELATION, "\u2271"},
    {"ngtr", FORMULA_RELATION, "\u226F"}, {"ni", FORMULA_RELATION, "\u220B"}, {"nleq", FORMULA_RELATION, "\u2270"},
    {"nless", FORMULA_RELATION, "\u226E"}, {"nmid", FORMULA_RELATION, "\u2224"}, {"nobreakspace", FORMULA_SPACE, " "},
    {"nolimits", FORMULA_SIZE, ""}, {"nonumber", FORMULA_SIZE, ""}, {"not", FORMULA_NOT, "\u0338"},
    {"notag", FORMULA_SIZE, ""}, {"notin", FORMULA_RELATION, "\u2209"}, {"nparallel", FORMULA_RELATION, "\u2226"},
    {"nsubseteq", FORMULA_RELATION, "\u2288"}, {"nsupseteq", FORMULA_RELATION, "\u2289"},
    {"nu", FORMULA_LETTER, "\u03BD"}, {"nwarrow", FORMULA_RELATION, "\u2196"}, {"o", FORMULA_LETTER, "\u00F8"},
    {"odot", FORMULA_RELATION, "\u2299"}, {"oe", FORMULA_LETTER, "\u0153"}, {"oint", FORMULA_LARGE, "\u222E"},
    {"omega", FORMULA_LETTER, "\u03C9"}, {"omicron", FORMULA_LETTER, "\u03BF"},
    {"ominus", FORMULA_RELATION, "\u2296"}, {"operatorname", FORMULA_TEXT, "w"},
    {"oplus", FORMULA_RELATION, "\u2295"}, {"oslash", FORMULA_RELATION, "\u2298"},
    {"otimes", FORMULA_RELATION, "\u2297"}, {"overbrace", FORMULA_BRACE, ""}, {"overline", FORMULA_ACCENT, "\u0305"},
    {"overrightarrow", FORMULA_ACCENT, "\u20D7"}, {"overset", FORMULA_OVER, ""},
    {"parallel", FORMULA_RELATION, "\u2225"}, {"partial", FORMULA_LETTER, "\u2202"},
    {"perp", FORMULA_RELATION, "\u22A5"}, {"phi", FORMULA_LETTER, "\u03D5"}, {"pi", FORMULA_LETTER, "\u03C0"},
    {"pm", FORMULA_RELATION, "\u00B1"}, {"pmb", FORMULA_FONT, ""}, {"pmod", FORMULA_MOD, ""},
    {"pounds", FORMULA_LETTER, "\u00A3"}, {"prec", FORMULA_RELATION, "\u227A"},
    {"preceq", FORMULA_RELATION, "\u2AAF"}, {"prime", FORMULA_LETTER, "\u2032"}, {"prod", FORMULA_LARGE, "\u220F"},
    {"propto", FORMULA_RELATION, "\u221D"}, {"psi", FORMULA_LETTER, "\u03C8"}, {"qquad", FORMULA_SPACE, "    "},
    {"quad", FORMULA_SPACE, "  "}, {"rVert", FORMULA_LETTER, "\u2016"}, {"rangle", FORMULA_LETTER, "\u27E9"},
    {"rbrace", FORMULA_LETTER, "}"}, {"rbrack", FORMULA_LETTER, "]"}, {"rceil", FORMULA_LETTER, "\u2309"},
    {"rfloor", FORMULA_LETTER, "\u230B"}, {"rho", FORMULA_LETTER, "\u03C1"}, {"right", FORMULA_LEFT, ""},
    {"rightarrow", FORMULA_RELATION, "\u2192"}, {"rightarrowtail", FORMULA_RELATION, "\u21A3"},
    {"rightharpoondown", FORMULA_RELATION, "\u21C1"}, {"rightharpoonup", FORMULA_RELATION, "\u21C0"},
    {"rightleftharpoons", FORMULA_RELATION, "\u21CC"}, {"rightsquigarrow", FORMULA_RELATION, "\u21DD"},
    {"rtimes", FORMULA_RELATION, "\u22CA"}, {"rvert", FORMULA_LETTER, "|"}, {"scriptscriptstyle", FORMULA_SIZE, ""},
    {"scriptstyle", FORMULA_SIZE, ""}, {"searrow", FORMULA_RELATION, "\u2198"}, {"sec", FORMULA_WORD, "sec"},
    {"setminus", FORMULA_RELATION, "\u2216"}, {"sharp", FORMULA_LETTER, "\u266F"},
    {"sigma", FORMULA_LETTER, "\u03C3"}, {"sim", FORMULA_RELATION, "\u223C"}, {"simeq", FORMULA_RELATION, "\u2243"},
    {"sin", FORMULA_WORD, "sin"}, {"sinh", FORMULA_WORD, "sinh"}, {"smallsetminus", FORMULA_RELATION, "\u2216"},
    {"space", FORMULA_SPACE, " "}, {"spadesuit", FORMULA_LETTER, "\u2660"}, {"sqcap", FORMULA_RELATION, "\u2293"},
    {"sqcup", FORMULA_RELATION, "\u2294"}, {"sqrt", FORMULA_ROOT, ""}, {"sqsubseteq", FORMULA_RELATION, "\u2291"},
    {"sqsupseteq", FORMULA_RELATION, "\u2292"}, {"square", FORMULA_LETTER, "\u25A1"},
    {"ss", FORMULA_LETTER, "\u00DF"}, {"stackrel", FORMULA_OVER, ""}, {"star", FORMULA_LETTER, "\u22C6"},
    {"strut", FORMULA_SIZE, ""}, {"subset", FORMULA_RELATION, "\u2282"}, {"subseteq", FORMULA_RELATION, "\u2286"},
    {"subsetneq", FORMULA_RELATION, "\u228A"}, {"succ", FORMULA_RELATION, "\u227B"},
    {"succeq", FORMULA_RELATION, "\u2AB0"}, {"sum", FORMULA_LARGE, "\u2211"}, {"sup", FORMULA_WORD, "sup"},
    {"supset", FORMULA_RELATION, "\u2283"}, {"supseteq", FORMULA_RELATION, "\u2287"},
    {"supsetneq", FORMULA_RELATION, "\u228B"}, {"surd", FORMULA_LETTER, "\u221A"},
    {"swarrow", FORMULA_RELATION, "\u2199"}, {"tag", FORMULA_TAG, ""}, {"tan", FORMULA_WORD, "tan"},
    {"tanh", FORMULA_WORD, "tanh"}, {"tau", FORMULA_LETTER, "\u03C4"}, {"tbinom", FORMULA_BINOMIAL, ""},
    {"text", FORMULA_TEXT, ""}, {"textbf", FORMULA_TEXT, ""}, {"textit", FORMULA_TEXT, ""},
    {"textnormal", FORMULA_TEXT, ""}, {"textrm", FORMULA_TEXT, ""}, {"textsf", FORMULA_TEXT, ""},
    {"textstyle", FORMULA_SIZE, ""}, {"texttt", FORMULA_TEXT, ""}, {"tfrac", FORMULA_FRACTION, ""},
    {"therefore", FORMULA_RELATION, "\u2234"}, {"theta", FORMULA_LETTER, "\u03B8"}, {"thinspace", FORMULA_SPACE, " "},
    {"tilde", FORMULA_ACCENT, "\u0303"}, {"times", FORMULA_RELATION, "\u00D7"}, {"to", FORMULA_RELATION, "\u2192"},
    {"top", FORMULA_LETTER, "\u22A4"}, {"triangle", FORMULA_LETTER, "\u25B3"},
    {"triangleq", FORMULA_RELATION, "\u225C"}, {"twoheadrightarrow", FORMULA_RELATION, "\u21A0"},
    {"underbrace", FORMULA_BRACE, ""}, {"underline", FORMULA_ACCENT, "\u0332"}, {"underset", FORMULA_UNDER, ""},
    {"uparrow", FORMULA_RELATION, "\u2191"}, {"updownarrow", FORMULA_RELATION, "\u2195"},
    {"uplus", FORMULA_RELATION, "\u228E"}, {"upsilon", FORMULA_LETTER, "\u03C5"},
    {"vDash", FORMULA_RELATION, "\u22A8"}, {"varepsilon", FORMULA_LETTER, "\u03B5"},
    {"varkappa", FORMULA_LETTER, "\u03F0"}, {"varnothing", FORMULA_LETTER, "\u2205"},
    {"varphi", FORMULA_LETTER, "\u03C6"}, {"varpi", FORMULA_LETTER, "\u03D6"}, {"varrho", FORMULA_LETTER, "\u03F1"},
    {"varsigma", FORMULA_LETTER, "\u03C2"}, {"vartheta", FORMULA_LETTER, "\u03D1"},
    {"vdash", FORMULA_RELATION, "\u22A2"}, {"vdots", FORMULA_LETTER, "\u22EE"}, {"vec", FORMULA_ACCENT, "\u20D7"},
    {"vee", FORMULA_RELATION, "\u2228"}, {"vert", FORMULA_LETTER, "|"}, {"wedge", FORMULA_RELATION, "\u2227"},
    {"widehat", FORMULA_ACCENT, "\u0302"}, {"widetilde", FORMULA_ACCENT, "\u0303"}, {"wp", FORMULA_LETTER, "\u2118"},
    {"wr", FORMULA_RELATION, "\u2240"}, {"xi", FORMULA_LETTER, "\u03BE"}, {"yen", FORMULA_LETTER, "\u00A5"},
    {"zeta", FORMULA_LETTER, "\u03B6"}, {"{", FORMULA_LETTER, "{"}, {"|", FORMULA_LETTER, "\u2016"},
    {"}", FORMULA_LETTER, "}"},
};
/* clang-format on */

struct form {
    uint16_t of, as;
};

static const struct form raised[] = {
    {0x28, 0x207D},  {0x29, 0x207E},   {0x2A, 0x2A},     {0x2B, 0x207A},   {0x2D, 0x207B},  {0x30, 0x2070},
    {0x31, 0xB9},    {0x32, 0xB2},     {0x33, 0xB3},     {0x34, 0x2074},   {0x35, 0x2075},  {0x36, 0x2076},
    {0x37, 0x2077},  {0x38, 0x2078},   {0x39, 0x2079},   {0x3D, 0x207C},   {0x41, 0x1D2C},  {0x42, 0x1D2E},
    {0x44, 0x1D30},  {0x45, 0x1D31},   {0x47, 0x1D33},   {0x48, 0x1D34},   {0x49, 0x1D35},  {0x4A, 0x1D36},
    {0x4B, 0x1D37},  {0x4C, 0x1D38},   {0x4D, 0x1D39},   {0x4E, 0x1D3A},   {0x4F, 0x1D3C},  {0x50, 0x1D3E},
    {0x52, 0x1D3F},  {0x54, 0x1D40},   {0x55, 0x1D41},   {0x56, 0x2C7D},   {0x57, 0x1D42},  {0x61, 0x1D43},
    {0x62, 0x1D47},  {0x63, 0x1D9C},   {0x64, 0x1D48},   {0x65, 0x1D49},   {0x66, 0x1DA0},  {0x67, 0x1D4D},
    {0x68, 0x2B0},   {0x69, 0x2071},   {0x6A, 0x2B2},    {0x6B, 0x1D4F},   {0x6C, 0x2E1},   {0x6D, 0x1D50},
    {0x6E, 0x207F},  {0x6F, 0x1D52},   {0x70, 0x1D56},   {0x72, 0x2B3},    {0x73, 0x2E2},   {0x74, 0x1D57},
    {0x75, 0x1D58},  {0x76, 0x1D5B},   {0x77, 0x2B7},    {0x78, 0x2E3},    {0x79, 0x2B8},   {0x7A, 0x1DBB},
    {0xB0, 0xB0},    {0x3B2, 0x1D5D},  {0x3B3, 0x1D5E},  {0x3B4, 0x1D5F},  {0x3B8, 0x1DBF}, {0x3C6, 0x1D60},
    {0x3C7, 0x1D61}, {0x2020, 0x2020}, {0x2032, 0x2032}, {0x2212, 0x207B}, {0x2218, 0xB0},
};

static const struct form lowered[] = {
    {0x28, 0x208D},  {0x29, 0x208E},  {0x2B, 0x208A}, {0x2D, 0x208B}, {0x30, 0x2080},  {0x31, 0x2081},  {0x32, 0x2082},
    {0x33, 0x2083},  {0x34, 0x2084},  {0x35, 0x2085}, {0x36, 0x2086}, {0x37, 0x2087},  {0x38, 0x2088},  {0x39, 0x2089},
    {0x3D, 0x208C},  {0x61, 0x2090},  {0x65, 0x2091}, {0x68, 0x2095}, {0x69, 0x1D62},  {0x6A, 0x2C7C},  {0x6B, 0x2096},
    {0x6C, 0x2097},  {0x6D, 0x2098},  {0x6E, 0x2099}, {0x6F, 0x2092}, {0x70, 0x209A},  {0x72, 0x1D63},  {0x73, 0x209B},
    {0x74, 0x209C},  {0x75, 0x1D64},  {0x76, 0x1D65}, {0x78, 0x2093}, {0x3B2, 0x1D66}, {0x3B3, 0x1D67}, {0x3C1, 0x1D68},
    {0x3C6, 0x1D69}, {0x3C7, 0x1D6A},
};

struct wanted {
    const char *name;
    size_t n;
};

static int by_name(const void *wanted, const void *row)
{
    const struct wanted *w = wanted;
    const struct formula_name *r = row;
    int order = strncmp(w->name, r->name, w->n);
    return order ? order : r->name[w->n] ? -1 : 0;
}

const struct formula_name *formula_name(const char *name, size_t n)
{
    return bsearch(&(struct wanted){name, n}, names, sizeof names / sizeof *names, sizeof *names, by_name);
}

static uint32_t form_of(const struct form *forms, size_t n, uint32_t point)
{
    for (size_t i = 0; i < n; i++)
        if (forms[i].of == point) return forms[i].as;
    return 0;
}

uint32_t formula_raised(uint32_t point)
{
    return form_of(raised, sizeof raised / sizeof *raised, point);
}

uint32_t formula_lowered(uint32_t point)
{
    return form_of(lowered, sizeof lowered / sizeof *lowered, point);
}

uint32_t formula_in_alphabet(uint32_t p, char alphabet)
{
    /* Those that were there before the alphabets were, in A-Z and a-z. */
    static const struct {
        char alphabet, letter;
        uint16_t as;
    } old[] = {{'b', 'C', 0x2102}, {'b', 'H', 0x210D}, {'b', 'N', 0x2115}, {'b', 'P', 0x2119}, {'b', 'Q', 0x211A},
               {'b', 'R', 0x211D}, {'b', 'Z', 0x2124}, {'c', 'B', 0x212C}, {'c', 'E', 0x2130}, {'c', 'F', 0x2131},
               {'c', 'H', 0x210B}, {'c', 'I', 0x2110}, {'c', 'L', 0x2112}, {'c', 'M', 0x2133}, {'c', 'R', 0x211B},
               {'c', 'e', 0x212F}, {'c', 'g', 0x210A}, {'c', 'o', 0x2134}, {'f', 'C', 0x212D}, {'f', 'H', 0x210C},
               {'f', 'I', 0x2111}, {'f', 'R', 0x211C}, {'f', 'Z', 0x2128}};
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (old[i].alphabet == alphabet && (uint32_t)(unsigned char)old[i].letter == p) return old[i].as;
    uint32_t first = alphabet == 'b' ? 0x1D538 : alphabet == 'c' ? 0x1D49C : alphabet == 'f' ? 0x1D504 : 0;
    if (first && p >= 'A' && p <= 'Z') return first + (p - 'A');
    if (first && p >= 'a' && p <= 'z') return first + 26 + (p - 'a');
    if (alphabet == 'b' && p >= '0' && p <= '9') return 0x1D7D8 + (p - '0');
    return p;
}
