import KFImaging
import KFLists
import KFNetwork
import KFStorage

/// The libraries that kf uses, for reports of faults.
package enum UsedLibraries {
    /// All of them with their versions. Loads those that are otherwise loaded when they are needed.
    package static var all: [CodecLibrary] {
        let codecs = ImageFormat.allCases.compactMap(\.library)
        let (curl, problem) = CurlLibrary.version()
        let archive = TarWriter.version()
        return [CodecLibrary("SQLite", SQLiteLibrary.version)] + codecs + CodecLibrary.forPixels + [
            CodecLibrary(
                "libcurl", curl, problem,
                packages: "libcurl4 (Debian, Ubuntu) or libcurl (Fedora); nothing is fetched without"),
            CodecLibrary(
                "libarchive", archive.version, archive.problem,
                packages: "libarchive13 (Debian, Ubuntu) or libarchive (Fedora) for --shards"),
        ]
    }
}
