import CSystem

/// The version of kf and of its source.
package enum Version {
    /// The tag of a release has the same number. Packages take it from here.
    package static let number = "0.1.0"
    /// The day of that release, which the manual page names.
    package static let date = "2026-11-27"

    /// The commit that the program was built of, `-dirty` if files differed; nil if the build did not tell.
    package static var commit: String? {
        let text = String(cString: kf_build_commit())
        return text.isEmpty ? nil : text
    }
}
