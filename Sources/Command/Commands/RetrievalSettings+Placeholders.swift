import KFCore

extension RetrievalSettings {
    /// The options of all that is retrieved of a source: its variants, then, with `--placeholder`, one for each variant.
    ///
    /// A placeholder is an image of its own in the cache, which shares the variant's decode.
    var retrieved: [KingfisherOptions] {
        let images = variants.map(\.options)
        guard let placeholder else { return images }
        return images
            + images.map { options in
                var options = options
                options.processor = placeholder.processor(after: options.processor)
                options.cacheSerializer = PlaceholderSerializer(placeholder)
                return options
            }
    }

    /// Returns the placeholder of a variant; nil if there is none, or it cannot be read.
    func placeholder(of variant: Int, in results: [PrefetchResult]) -> String? {
        guard results.count > variants.count + variant,
            case .success(let image) = results[variants.count + variant].image
        else { return nil }
        return placeholder(in: image)
    }

    func placeholder(in image: RetrieveImageResult) -> String? {
        value { () throws(KingfisherError) in try image.loadData() }
    }

    func placeholder(of variant: Int, in files: [StoredFile]) -> String? {
        guard files.count > variants.count + variant else { return nil }
        return value { () throws(KingfisherError) in try files[variants.count + variant].readAll() }
    }

    private func value(_ read: () throws(KingfisherError) -> [UInt8]) -> String? {
        // The image itself is there: a placeholder that has just been evicted is no failure.
        do throws(KingfisherError) { return PlaceholderSerializer.value(in: try read()) } catch { return nil }
    }
}
