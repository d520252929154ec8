/// Pillow 13.0.0's frames of the GIFs in the corpora: the first 16 digits of the SHA-256 of all frames, composited, as
/// RGBA of 8 bits with zeros for transparent pixels.
///
/// Files on which Pillow and browsers differ are omitted: Pillow fills areas that no frame covers with the background
/// colour, and widens the canvas for frames outside it. `AnimationBlendingTests` has such frames.
enum PillowFrames {
    static let digests: [String: (frames: Int, digest: String)] = [
        "image-gif/regression/issue-208-block-type-beta.gif": (1, "857c1ae69026d63f"),
        "image-gif/regression/issue-208-block-type.gif": (1, "857c1ae69026d63f"),
        "image-gif/regression/issue-209-extension-block-type.gif": (1, "ad95131bc0b799c0"),
        "image-gif/samples/2x2.gif": (1, "f38d522927a4f3ee"),
        "image-gif/samples/alpha_gif_a.gif": (1, "a05220d5d89b6632"),
        "image-gif/samples/anim-gr.gif": (2, "4f72a145628d9d9c"),
        "image-gif/samples/beacon.gif": (2, "633cfe726a41263c"),
        "image-gif/samples/beacon_icc.gif": (2, "633cfe726a41263c"),
        "image-gif/samples/beacon_xmp.gif": (2, "633cfe726a41263c"),
        "image-gif/samples/interlaced.gif": (1, "6e313bb8c71a5456"),
        "image-gif/samples/sample_1.gif": (1, "6a9402fd06b3491c"),
        "image-gif/samples/set_hsts.gif": (1, "df3f619804a92fdb"),
        "pillow/background_outside_palette.gif": (2, "e31729dcb74a56e5"),
        "pillow/chi.gif": (31, "faf4bfda35d4e27e"),
        "pillow/comment_after_last_frame.gif": (2, "e097e88ee7538327"),
        "pillow/comment_after_only_frame.gif": (1, "e3820096cb82366b"),
        "pillow/dispose_bgnd_transparency.gif": (10, "c48b2bebf336346a"),
        "pillow/dispose_none.gif": (5, "8713033cac7eb14e"),
        "pillow/dispose_none_load_end.gif": (2, "210a67a4c430b687"),
        "pillow/dispose_prev.gif": (5, "bb5e1d5a38da72cd"),
        "pillow/dispose_prev_first_frame.gif": (2, "62468c60e58b1dd2"),
        "pillow/duplicate_number_of_loops.gif": (2, "e31729dcb74a56e5"),
        "pillow/first_frame_transparency.gif": (1, "52be232e24d59331"),
        "pillow/hopper_zero_comment_subblocks.gif": (1, "04372ce858a1338e"),
        "pillow/iss634.gif": (42, "9f98875e42d784e0"),
        "pillow/issue_2811.gif": (1, "d152b8b01a024758"),
        "pillow/missing_background.gif": (4, "8eaa9f0612f796bf"),
        "pillow/no_palette.gif": (2, "d5953f0c4e8f8c15"),
        "pillow/no_palette_after_rgb.gif": (3, "e50b3480d76d8d57"),
        "pillow/no_palette_with_background.gif": (2, "d5953f0c4e8f8c15"),
        "pillow/no_palette_with_transparency.gif": (2, "a66e9a8d37aa4b63"),
        "pillow/no_palette_with_transparency_after_rgb.gif": (2, "d365c8957e48c554"),
        "pillow/second_frame_comment.gif": (3, "173378790197389e"),
        "pillow/transparent.gif": (1, "3e81b395439ca925"),
        "pillow/transparent_dispose.gif": (3, "e5aa260fe2be67c8"),
        "wuffs-artificial/empty-palette.gif": (2, "1a30d58a71634469"),
        "wuffs-artificial/multiple-graphic-controls.gif": (1, "b7d1b3a1104cc86b"),
        "wuffs-artificial/pixel-data-too-much-bad-lzw.gif": (1, "d37a4c2900bb85df"),
        "wuffs-artificial/pixel-data-too-much-good-lzw.gif": (1, "d37a4c2900bb85df"),
        "wuffs-artificial/transparent-index.gif": (2, "21304c0d1e7015a2"),
    ]
}
