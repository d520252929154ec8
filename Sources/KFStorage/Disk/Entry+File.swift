extension Entry {
    /// What is known of a file that belongs to no cache. It never expires, and stands in no index.
    package init(
        of key: EntryKey, fileOf bytes: UnsafeRawBufferPointer, modified: Int64, fileExtension: String,
        pixels: PixelFacts?, now: Timestamp
    ) {
        let object = StoredObject(
            digest: SHA256.hash(bytes), fileExtension: ObjectExtension(fileExtension) ?? .unknown,
            size: Int64(bytes.count), modified: modified, pixels: pixels)
        self.init(
            key: key, row: 0, object: object, original: nil, url: nil, etag: nil, lastModified: nil, freshness: nil,
            created: now, timeToLive: nil, extending: .none, accessed: now, expires: .distantFuture, hits: 0)
    }
}
