/// How an image is checked when it arrives, before anything of it is stored.
public enum ImageCheck: String, Sendable, Hashable {
    /// Header, lengths, checksums and end: finds truncation and gross damage at a small part of a decode's cost.
    case structure
    /// Every frame is decoded as well, and none is kept: finds all damage that a later decode would find.
    case full

    /// How far an image could be checked.
    public enum Extent: String, Sendable, Hashable {
        /// Only the first bytes, which name a format that kf does not decode.
        case none
        /// The structure; also when a full check was asked for and kf does not decode this kind of the format.
        case structure
        /// The structure and every frame.
        case full
    }
}
