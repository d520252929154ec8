import KFNetwork

/// A page of a server's list of blobs.
struct BlobPage: Sendable {
    let url: String
    /// GET for a bucket, PROPFIND for a folder of WebDAV.
    let method: TransferMethod
    /// The folder below the address of the server, such as `kf1/ac/`, or the token that stands for a part of a bucket's
    /// list; empty for its beginning.
    let place: String
    /// Whether the place comes into being with the first upload. `BlobServer.rootPage` is then above it.
    var mayBeMissing = false

    /// The greatest size in bytes. A page of S3 has at most 1,000 names, each of at most 1,024 bytes.
    static let longest = 16 << 20

    /// The contents of a page.
    struct Contents: Sendable {
        var blobs: [CacheLayerBlob] = []
        /// The pages that are to be read too.
        var pages: [BlobPage] = []
    }
}
