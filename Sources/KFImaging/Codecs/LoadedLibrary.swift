import CImageCodecs

/// A library that is loaded for the first image of a format whose pixels are asked for.
struct LoadedLibrary: Sendable {
    let format: ImageFormat
    /// The name of the library, such as `libtiff`.
    let name: String
    /// The packages to install when it is missing.
    let packages: String
    /// Loads it; nil, or the reason why it cannot be used.
    private let load: @Sendable () -> UnsafePointer<CChar>?
    /// The version of the loaded library.
    private let version: @Sendable () -> String

    /// - Throws: `missingLibrary`.
    func require() throws(ImagingError) {
        guard let reason = load() else { return }
        throw .missingLibrary(format, packages: packages, reason: String(cString: reason))
    }

    /// The library with its version, or with the reason why it cannot be used. Loads it.
    var described: CodecLibrary {
        guard let reason = load() else { return CodecLibrary(name, version()) }
        return CodecLibrary(name, nil, String(cString: reason), packages: packages)
    }

    /// Debian and Ubuntu number the package of libavif as the library: libavif.so.15 is in libavif15.
    static let avif = LoadedLibrary(
        format: .avif, name: "libavif", packages: "\(package(kf_avif_library())) (Debian, Ubuntu) or libavif (Fedora)",
        load: { kf_avif_load() },
        version: {
            let said = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { text in
                text.initialize(repeating: 0)
                kf_avif_coders(text.baseAddress)
                return text.baseAddress.map { String(cString: $0) } ?? ""
            }
            // As in `dav1d [dec]:1.0.0, aom [enc/dec]:v3.6.0, rav1e [enc]:0.5.1 (v0.5.1)`.
            let coders = ["dav1d", "aom"].compactMap { name -> String? in
                guard let coder = said.split(separator: ",").first(where: { $0.drop { $0 == " " }.hasPrefix(name) })
                else { return nil }
                return coder.split(separator: ":").last.map { "\(name) \($0.drop { $0 == "v" })" }
            }
            return "\(String(cString: kf_avif_version())) (\(coders.joined(separator: ", ")))"
        })

    static let heic = LoadedLibrary(
        format: .heic, name: "libheif", packages: "libheif1 (Debian, Ubuntu) or libheif (Fedora)",
        load: { kf_heif_load() }, version: { String(cString: kf_heif_version()) })

    /// Debian and Ubuntu number the package of libjxl as the library.
    static let jxl = LoadedLibrary(
        format: .jxl, name: "libjxl", packages: "\(package(kf_jxl_library())) (Debian, Ubuntu) or libjxl (Fedora)",
        load: { kf_jxl_load() },
        version: {
            let version = kf_jxl_version()
            return "\(version / 1_000_000).\(version / 1000 % 1000).\(version % 1000)"
        })

    static let tiff = LoadedLibrary(
        format: .tiff, name: "libtiff", packages: "libtiff6 (Debian, Ubuntu) or libtiff (Fedora)",
        load: { kf_tiff_load() },
        // As in `LIBTIFF, Version 4.5.0`, with a copyright in the lines below.
        version: {
            let line = String(cString: kf_tiff_version()).split(separator: "\n").first ?? ""
            return line.split(separator: " ").last.map(String.init) ?? "unknown"
        })

    /// The package that is named after a file: libavif15 of libavif.so.15, libjxl0.7 of libjxl.so.0.7.
    private static func package(_ file: UnsafePointer<CChar>?) -> String {
        let parts = file.map { String(cString: $0).split(separator: ".") } ?? []
        return parts.prefix(1).joined() + parts.dropFirst(2).joined(separator: ".")
    }
}
