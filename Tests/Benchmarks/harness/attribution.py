"""Tells which part of kf an instruction belongs to, and what kind of work it is.

The part is that of the nearest function, up the chain of callers, whose source file belongs to one: a `swift_retain` or a
copy that the compiler made counts for the code that needs it. Source files are found in the debug information.
"""

import collections
import functools
import re
import subprocess

from .callgrind import PLAIN
from .peers import toolchain

LIBCURL, INDEX, HASHING = "libcurl", "SQLite, and the index in Swift", "SHA-256"
PREFETCHER = "prefetcher: run, wishes, outcomes"
OBJECTS = "object file, names, hex"
DOWNLOADER = "downloader, body, facts of a response"
MANAGER = "manager, jobs, options"
ENGINE = "engine, scheduler"
CHECK = "check of the structure"
HEADERS = "header lines"
KEYS = "keys, URL, request identity"
LISTS = "list"
AROUND = "cache facade, joins, workers, claims, delivery, command line"
REST = "freshness, and the rest of KFCore, KFPipeline, KFRemote, KFTerms"
OWN = "code without debug information, as of curl and the floors"
ROOTLESS = "start of threads, dynamic linker"
PARTS = [
    *(LIBCURL, PREFETCHER, INDEX, OBJECTS, DOWNLOADER, MANAGER, ENGINE, CHECK, REST, HEADERS, KEYS, LISTS, AROUND),
    *(OWN, ROOTLESS, HASHING),
]
CALLER = None  # what is small and used everywhere counts for its callers

DEPTH = 30  # functions between one of a known part and the last that counts for it

# The longest beginning of a path below Sources decides.
FILES = {
    "CCommand/": AROUND,
    "CCurl/": ENGINE,
    "CImageCodecs/": CHECK,
    "CSystem/": OBJECTS,
    "CSystem/log_vfs.c": INDEX,
    "Command/": AROUND,
    "KFCore/": REST,
    "KFCore/Cache/": AROUND,
    "KFCore/Export/": AROUND,
    "KFCore/Prefetcher/": PREFETCHER,
    "KFImaging/": CHECK,
    "KFLists/": LISTS,
    "KFLists/List/Prefetch": PREFETCHER,
    "KFLists/List/PrefetchLists": LISTS,
    "KFLists/Output/": AROUND,
    "KFLists/Shards/": AROUND,
    "KFNetwork/": ENGINE,
    "KFNetwork/Address/": KEYS,
    "KFNetwork/HTTP/": HEADERS,
    "KFPipeline/": REST,
    "KFPipeline/Cache/": AROUND,
    "KFPipeline/Downloader/": DOWNLOADER,
    "KFPipeline/Manager/": MANAGER,
    "KFPipeline/Manager/OriginFacts": REST,
    "KFPipeline/Manager/Retrieval+Condition": REST,
    "KFPipeline/Options/": MANAGER,
    "KFPipeline/Pipeline/": AROUND,
    "KFPipeline/Pipeline/ImageJob": MANAGER,
    "KFRemote/": REST,
    "KFStorage/": OBJECTS,
    "KFStorage/Disk/DiskStorage+Flights": AROUND,
    "KFStorage/Disk/DiskStorage+Orders": INDEX,
    "KFStorage/Disk/FlightTable": AROUND,
    "KFStorage/Disk/IndexOrder": INDEX,
    "KFStorage/Disk/IndexSession": INDEX,
    "KFStorage/Index/": INDEX,
    "KFStorage/Index/ClaimTable": AROUND,
    "KFStorage/Index/EntryKey": KEYS,
    "KFSystem/": CALLER,
    "KFSystem/WorkerPool": AROUND,
    "KFTerms/": REST,
    "KFTerms/Options/": MANAGER,
    "KFTerms/Requests/": DOWNLOADER,
    "KFTerms/Requests/DownloadTask": MANAGER,
    "KFTerms/Results/": AROUND,
    "KFTerms/Source/": KEYS,
    "kf/": AROUND,
}

COUNTING, COPIES, ALLOCATION, BYTES = "retain and release", "copies of values", "allocation", "bytes copied, compared"
WAITING, METADATA, LIBRARIES, OTHER = "tasks, locks, exclusivity", "metadata, casts", "libcurl and SQLite", "the rest"
KINDS = [COUNTING, COPIES, ALLOCATION, BYTES, WAITING, METADATA, LIBRARIES, OTHER, HASHING]
# The first that is found in the symbol or its demangled form decides.
PATTERNS = [
    (kind, re.compile(pattern))
    for kind, pattern in (
        (COUNTING, r"swift_(\w*retain|\w*release|bridgeObjectR|unknownObject|weak|unowned|isUnique|isEscaping|setDealloc)"),
        (COUNTING, r"RefCount"),
        (ALLOCATION, r"^(_?_?int_)?(malloc|free|calloc|realloc|memalign|posix_memalign|aligned_alloc|_mid_memalign)\b"),
        (ALLOCATION, r"^(_int_\w+|malloc_consolidate|unlink_chunk\S*|sysmalloc|systrim\S*|tcache\w*|arena_get\S*|cfree)$"),
        (ALLOCATION, r"swift_(allocObject|slow(A|Dea)lloc|dealloc|initStackObject|allocBox|task_(de)?alloc)"),
        (ALLOCATION, r"ContiguousArrayStorage.*dealloc"),
        (BYTES, r"^_*mem(p?cpy|move|set|r?chr|cmp\w*)|^_*str(len|n?cmp|chr)"),
        (COPIES, r"outlined |initialize(Buffer)?With|assignWith|destroy for |swift_array(Init|Destroy|Assign)"),
        (COPIES, r"swift_memcpy|swift_(destroy|mutable|allocate|project)_boxed|[eE]numTag|noop_void|_swift_pod"),
        (METADATA, r"etadata|swift_conformsTo|swift_dynamicCast|itnessTable|swift_getAssociated|MangledName|GenericCache"),
        (METADATA, r"ProtocolConformance|LockingConcurrentMap|ConcurrentReadable|Demangl|KeyPath"),
        (WAITING, r"swift_(begin|end)Access|AccessSet|swift_(task|async|job|continuation)|AsyncTask|Executor|swift::Job"),
        (WAITING, r"dispatch|_os_|pthread|Mutex|futex|lll_|^sem_|epoll"),
    )
]


class Attribution:
    """The parts and kinds of one program's functions."""

    def __init__(self, program, functions):
        self.program = program.name
        symbols = sorted({function.symbol for function in functions})
        self.plain = demangled(symbols)
        self.sources = source_files(program)
        self.parts = {}
        self.kinds = {}

    def part(self, function):
        """The part that a function belongs to by itself, or None."""
        if function not in self.parts:
            self.parts[function] = self.find_part(function)
        return self.parts[function]

    def find_part(self, function):
        if function.file.startswith("libcurl"):
            return LIBCURL
        if function.file and not self.is_program(function.file):
            return None
        if function.symbol in archive("sqlite3"):
            return INDEX
        if function.symbol in archive("crypto"):
            return HASHING
        if not self.sources and function.file:
            return OWN
        if function.symbol not in self.sources:
            return None
        path = self.sources[function.symbol]
        if path is None:
            return OWN
        fitting = max((start for start in FILES if path.startswith(start)), key=len, default=None)
        return f"{path} (of no part)" if fitting is None else FILES[fitting]

    def is_program(self, file):
        return file.removesuffix(PLAIN) == self.program

    def kind(self, function):
        if function not in self.kinds:
            self.kinds[function] = self.find_kind(function)
        return self.kinds[function]

    def find_kind(self, function):
        part = self.part(function)
        if part == HASHING:
            return HASHING
        if part == LIBCURL or part == INDEX and function.symbol in archive("sqlite3"):
            return LIBRARIES
        plain = self.plain.get(function.symbol, function.symbol)
        for kind, pattern in PATTERNS:
            if pattern.search(function.symbol) or pattern.search(plain):
                return kind
        return OTHER

    def table(self, profile):
        """Instructions by part and kind."""
        shares = self.shares(profile)
        result = collections.Counter()
        for chain, cost in profile.own.items():
            for part, share in shares[chain].items():
                result[part, self.kind(chain[0])] += cost * share
        return result

    def shares(self, profile):
        """The parts of each chain: all of it for one, or as much for each as that part's calls cost."""
        chains = set(profile.own) | {chain for pair in profile.calls for chain in pair}
        shares, callers = {}, collections.defaultdict(list)
        for chain in chains:
            part = next(filter(None, map(self.part, chain)), None)
            if part:
                shares[chain] = {part: 1.0}
        open_chains = [chain for chain in chains if chain not in shares]
        for (caller, callee), cost in profile.calls.items():
            if callee not in shares and cost > 0:
                callers[callee].append((caller, cost))
        for chain in open_chains:
            shares[chain] = {} if callers[chain] else {ROOTLESS: 1.0}
        for _ in range(DEPTH):
            for chain in open_chains:
                if callers[chain]:
                    shares[chain] = weighted((shares[caller], cost) for caller, cost in callers[chain]) or shares[chain]
        return collections.defaultdict(lambda: {ROOTLESS: 1.0}, {chain: parts for chain, parts in shares.items() if parts})


def weighted(shares):
    sums = collections.Counter()
    for parts, cost in shares:
        for part, share in parts.items():
            sums[part] += share * cost
    return {part: cost / sums.total() for part, cost in sums.items()} if sums else {}


def attributed(program, many, one, each):
    """Two counters, by part and by kind: what an image costs in a run of many, less what a run of one costs."""
    chains = {chain for profile in (many, one) for chain in profile.own}
    chains |= {chain for profile in (many, one) for pair in profile.calls for chain in pair}
    attribution = Attribution(program, {function for chain in chains for function in chain})
    table = attribution.table(many)
    table.subtract(attribution.table(one))
    parts, kinds = collections.Counter(), collections.Counter()
    for (part, kind), cost in table.items():
        parts[part] += cost * each
        kinds[kind] += cost * each
    return parts, kinds


def demangled(symbols):
    done = subprocess.run(
        (toolchain("swift-demangle"), "-compact", "-simplified"), input="\n".join(symbols), capture_output=True, text=True, check=True
    )
    return dict(zip(symbols, done.stdout.splitlines()))


def source_files(program):
    """The source file of each function of the program, below Sources; None of one that is not from there.

    Functions that the compiler made up have no file and are left out, like those of Swift's library.
    """
    listed = subprocess.run(("nm", "--defined-only", program), capture_output=True, text=True, check=True).stdout
    functions = [line.split(maxsplit=2) for line in listed.splitlines()]
    functions = [(address, symbol) for address, kind, symbol in functions if kind in "tTwW"]
    asked = "".join(f"0x{address}\n" for address, _ in functions)
    said = subprocess.run(
        (toolchain("llvm-symbolizer"), f"--obj={program}", "--functions=none", "--inlining=false"),
        input=asked,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    places = [line for line in said.splitlines() if line]
    has_swift = any(".swift:" in place for place in places)
    found = {}
    for (_, symbol), place in zip(functions, places):
        _, below, path = place.rpartition("/Sources/")
        if below:
            found[symbol] = path.split(":")[0]
        elif not has_swift:
            found[symbol] = None
    return found


@functools.cache
def archive(name):
    """The symbols of a library that is linked from its archive."""
    path = subprocess.run(("cc", f"-print-file-name=lib{name}.a"), capture_output=True, text=True, check=True).stdout
    listed = subprocess.run(("nm", "--defined-only", path.strip()), capture_output=True, text=True, check=True).stdout
    return {fields[2] for fields in map(str.split, listed.splitlines()) if fields[1:2] and fields[1] in "tTwW"}
